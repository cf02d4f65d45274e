//! Proves the claims of a certificate, or refuses the file.  Written from docs/certificates.md, without another program.
//!
//! Every game is a tree of nodes that all players see, and a decision has weights for each hand of its player.  Rules
//! give the nodes; one traversal sums the payoffs of all games.  All sums are exact.

use anyhow::{bail, ensure, Context, Result};
use itertools::Itertools;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{FromPrimitive, NumAssignRef, NumRef, One, Signed, Zero};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, str::FromStr};

/// Whole numbers, or fractions in trees.
trait Number: Clone + Ord + Signed + NumRef + NumAssignRef + FromPrimitive + FromStr + Into<BigRational> {}
impl<N: Clone + Ord + Signed + NumRef + NumAssignRef + FromPrimitive + FromStr + Into<BigRational>> Number for N {}

/// An object of JSON, with its entries in the order of the file.
struct Pairs<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(Pairs(vec![]))
    }
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
    type Value = Self;
    fn expecting(&self, text: &mut fmt::Formatter) -> fmt::Result {
        text.write_str("an object")
    }
    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<Self, M::Error> {
        while let Some(entry) = map.next_entry()? {
            self.0.push(entry);
        }
        Ok(self)
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).with_context(|| text.chars().take(60).collect::<String>())
}

/// Return the entries of an object that has exactly these names.
fn fields<'a, const N: usize>(object: &'a str, names: [&str; N]) -> Result<[&'a str; N]> {
    let entries: Pairs<&RawValue> = read(object)?;
    let found = entries.0.iter().map(|entry| entry.0.as_str()).sorted();
    ensure!(found.eq(names.into_iter().sorted()), "the entries are not {names:?}");
    Ok(names.map(|name| entries.0.iter().find(|entry| entry.0 == name).unwrap().1.get()))
}

fn whole_number<N: FromStr>(text: &str) -> Result<N> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).with_context(|| format!("{text:?} is not a whole number"))
}

/// Read a whole number, a decimal or a fraction.
fn number(text: &str) -> Result<BigRational> {
    let not_one = || format!("{text:?} is not a number");
    ensure!(!text.contains(['_', '+']) || text.contains("e+"), not_one());
    if text.contains('/') {
        return text.parse().ok().with_context(not_one);
    }
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: BigRational = format!("{before}{after}").parse().ok().with_context(not_one)?;
    let power = exponent.parse::<i16>().with_context(not_one)? as i32 - after.len() as i32;
    Ok(whole * BigRational::from(BigInt::from(10)).pow(power))
}

/// Return a short fraction, or two decimals of 15 digits around the number.
fn shown(number: &BigRational) -> String {
    let length = |part: &BigInt| part.magnitude().to_string().len() as i32;
    let rounded = |round: fn(&BigRational) -> BigRational| {
        // The first exponent may be too small by one, or by two if the digits are rounded up to a power of ten.
        for exponent in length(number.numer()) - length(number.denom()) - 1.. {
            let text = round(&(number * BigRational::from(BigInt::from(10)).pow(14 - exponent))).abs().to_string();
            if text.len() == 15 {
                let sign = if number.is_negative() { "-" } else { "" };
                return format!("{sign}{}.{}e{exponent:+}", &text[..1], &text[1..]);
            }
        }
        unreachable!()
    };
    match number.to_string() {
        text if text.len() < 40 => format!("exactly {text}"),
        _ => format!("from {} to {}", rounded(BigRational::floor), rounded(BigRational::ceil)),
    }
}

type Next<'a, N> = Box<dyn FnOnce() -> Result<Node<'a, N>> + 'a>;

enum Node<'a, N> {
    /// A decision: its player, its label and its actions.
    Act(usize, String, Vec<(String, Next<'a, N>)>),
    /// Permutations of hands that change no weights before; and outcomes, one for each of some permutations.
    Chance(Vec<usize>, Vec<(Vec<usize>, Next<'a, N>)>),
    /// For each pair of hands the position of its payoffs; and the payoffs by player, times all chances.
    End(Rc<Vec<u8>>, Vec<Vec<N>>),
}

struct Proof<N> {
    /// Weight of each hand of each player in the deal.
    hands: Vec<Vec<N>>,
    /// Permutations of the hands of each player.
    permutations: Vec<Vec<Vec<usize>>>,
    /// True if several nodes can have one label.
    shared: bool,
    strategies: HashMap<String, (Vec<(String, String)>, Option<usize>)>,
    /// The player's action before (infoset and position), and sums of payoffs after each action, if nodes share labels.
    /// The first infosets are before all actions of a player.
    infosets: Vec<([usize; 2], Vec<N>)>,
    /// Expected utilities, and lines of both digests.
    values: Vec<N>,
    lines: [Vec<String>; 2],
}

impl<N: Number> Proof<N> {
    /// Return the payoffs of a best response for each player and hand.  `reach` has the weights of the hands here.
    fn visit(&mut self, node: Node<N>, copies: &N, reach: &[Rc<Vec<N>>], past: &[[usize; 2]]) -> Result<Vec<Vec<N>>> {
        let players = self.hands.len();
        let mut best = self.hands.iter().map(|hands| vec![N::zero(); hands.len()]).collect_vec();
        match node {
            Node::End(pairs, payoffs) => {
                ensure!(payoffs.iter().all(|payoffs| payoffs.len() == players), "payoffs of {players} players");
                for player in 0..players {
                    // Two players have many hands, or all players have one.
                    let mut others = vec![N::one()];
                    for other in (0..players).filter(|&other| other != player) {
                        let weights = reach[other].iter().zip(&self.hands[other]);
                        others = weights.map(|(weight, hand)| others[0].clone() * weight * hand).collect();
                    }
                    let others = others.iter().enumerate().filter(|other| !other.1.is_zero()).collect_vec();
                    for (hand, best) in best[player].iter_mut().enumerate().filter(|_| !others.is_empty()) {
                        let mut sums = vec![N::zero(); payoffs.len()];
                        for &(other, weight) in &others {
                            let [first, second] = if player == 0 { [hand, other] } else { [other, hand] };
                            sums[pairs[first * (pairs.len() / self.hands[0].len()) + second] as usize] += weight;
                        }
                        for (sum, payoffs) in sums.into_iter().zip(&payoffs) {
                            *best += sum * &payoffs[player];
                        }
                        if !reach[player][hand].is_zero() {
                            let weight = reach[player][hand].clone() * &self.hands[player][hand] * copies;
                            self.values[player] += weight * &*best;
                        }
                    }
                }
            }
            Node::Chance(group, outcomes) => {
                for (permutation, player) in group.into_iter().cartesian_product(0..players) {
                    let moved = self.permutations[permutation][player].iter();
                    let equal = moved.zip(&*reach[player]).all(|(&image, weight)| reach[player][image] == *weight);
                    ensure!(equal, "the weights of player {player} change with the suits");
                }
                for (permutations, next) in outcomes {
                    let copies = N::from_usize(permutations.len()).unwrap() * copies;
                    let below = self.visit(next()?, &copies, reach, past)?;
                    for (permutation, player) in permutations.into_iter().cartesian_product(0..players) {
                        for (&image, sum) in self.permutations[permutation][player].iter().zip(&below[player]) {
                            best[player][image] += sum;
                        }
                    }
                }
            }
            Node::Act(player, label, actions) => {
                let (mut reach, mut past) = (reach.to_vec(), past.to_vec());
                let before = reach.get(player).with_context(|| format!("{label:?}: player {player}"))?;
                let names = actions.iter().map(|action| &action.0).collect_vec();
                let (infoset, rows) =
                    self.weights(&label, &names, past[player], before).with_context(|| format!("{label:?}"))?;
                for (action, ((_, next), weights)) in actions.into_iter().zip(rows).enumerate() {
                    (reach[player], past[player]) = (Rc::new(weights), [infoset, action]);
                    let mut below = self.visit(next()?, copies, &reach, &past)?;
                    if self.shared {
                        // The best action is known after all nodes of the infoset.
                        self.infosets[infoset].1[action] += std::mem::take(&mut below[player])[0].clone();
                    }
                    for (other, below) in below.into_iter().enumerate() {
                        for (sum, more) in best[other].iter_mut().zip(below) {
                            if other != player {
                                *sum += more;
                            } else if action == 0 || more > *sum {
                                *sum = more;
                            }
                        }
                    }
                }
            }
        }
        Ok(best)
    }

    /// Return the position of an infoset, and the weights of its actions.
    fn weights(
        &mut self, label: &str, names: &[&String], past: [usize; 2], before: &[N],
    ) -> Result<(usize, Vec<Vec<N>>)> {
        let (actions, position) = self.strategies.get_mut(label).context("no strategy")?;
        ensure!(names.iter().copied().eq(actions.iter().map(|action| &action.0)), "the actions are {names:?}");
        ensure!(names.iter().all_unique() && !names.is_empty(), "two actions have one name, or there is none");
        let row = |action: &(String, String)| action.1.split(' ').map(whole_number).collect();
        let rows: Vec<Vec<N>> = actions.iter().map(row).collect::<Result<_>>()?;
        let mut rest = before.to_vec();
        for row in &rows {
            ensure!(row.len() == rest.len(), "{} weights for {} hands", row.len(), rest.len());
            rest.iter_mut().zip(row).for_each(|(rest, weight)| *rest -= weight);
        }
        ensure!(rest.iter().all(N::is_zero), "the weights do not sum to the weights before");
        if position.is_none() {
            *position = Some(self.infosets.len());
            self.infosets.push((past, vec![N::zero(); if self.shared { names.len() } else { 0 }]));
            let line = |part: fn(&(String, String)) -> &str| {
                let words = std::iter::once(label).chain(actions.iter().map(part));
                format!("[{}]", words.map(|word| serde_json::to_string(word).unwrap()).join(", "))
            };
            self.lines[0].push(line(|action| &action.0));
            self.lines[1].push(line(|action| &action.1));
        }
        let infoset = position.unwrap();
        ensure!(self.infosets[infoset].0 == past, "the player forgets actions");
        Ok((infoset, rows))
    }
}

/// Prove all claims of a file, and return the lines to print.  All payoffs are times `unit`.
fn prove<N: Number>(
    root: Node<N>, hands: Vec<Vec<N>>, permutations: Vec<Vec<Vec<usize>>>, shared: bool, unit: N, file: &str,
) -> Result<String> {
    let names = ["format", "game", "totals", "strategies", "digest", "claims"];
    let [_, game, totals, strategies, digest, claims] = fields(file, names)?;
    let [_, _, game_digest] = fields(game, ["name", "parameters", "digest"])?;
    let totals = read::<Vec<String>>(totals)?.iter().map(|text| whole_number(text)).collect::<Result<Vec<N>>>()?;
    let players = hands.len();
    ensure!(totals.len() == players && totals.iter().all(N::is_positive), "the totals are wrong");
    let strategies: Pairs<Pairs<String>> = read(strategies)?;
    let count = strategies.0.len();
    let strategies: HashMap<_, _> =
        strategies.0.into_iter().map(|(label, actions)| (label, (actions.0, None))).collect();
    ensure!(strategies.len() == count, "two decisions have one label");
    let infosets = (0..players).map(|player| ([player, 0], vec![N::zero()])).collect();
    let (values, lines) = (vec![N::zero(); players], Default::default());
    let mut proof = Proof { hands, permutations, shared, strategies, infosets, values, lines };
    let past = (0..players).map(|player| [player, 0]).collect_vec();
    let reach = proof.hands.iter().zip(&totals).map(|(hands, total)| Rc::new(vec![total.clone(); hands.len()]));
    let best = proof.visit(root, &N::one(), &reach.collect_vec(), &past)?;
    ensure!(proof.infosets.len() == players + count, "strategies of unknown decisions");
    while proof.infosets.len() > players {
        let ([infoset, action], sums) = proof.infosets.pop().unwrap();
        if let Some(best) = sums.into_iter().max() {
            proof.infosets[infoset].1[action] += best;
        }
    }
    for (lines, stated) in proof.lines.iter_mut().zip([game_digest, digest]) {
        lines.sort();
        ensure!(read::<String>(stated)? == format!("{:x}", Sha256::digest(lines.join("\n"))), "a digest is wrong");
    }
    let mut proven = vec![("exploitability".to_string(), BigRational::zero())];
    let weight = totals.iter().fold(unit, |product, total| product * total);
    for player in 0..players {
        let value = proof.values[player].clone().into() / weight.clone().into();
        let sums = proof.hands[player].iter().zip(&best[player]).map(|(weight, sum)| weight.clone() * sum);
        let best = sums.fold(proof.infosets[player].1[0].clone(), |total, sum| total + sum) * &totals[player];
        let best = best.into() / weight.clone().into();
        proven[0].1 += (&best - &value) / BigInt::from(players);
        proven.extend([(format!("value {player}"), value), (format!("best response {player}"), best)]);
    }
    let claims: Pairs<[String; 2]> = read(claims)?;
    ensure!(
        claims.0.len() == proven.len(),
        "the claims are not {:?}",
        proven.iter().map(|claim| &claim.0).collect_vec()
    );
    let line = |(name, exact): (String, BigRational)| {
        let claim = claims.0.iter().find(|claim| claim.0 == name);
        let [lower, upper] = &claim.with_context(|| format!("no claim of {name}"))?.1;
        ensure!(number(lower)? <= exact && exact <= number(upper)?, "{name} is {}", shown(&exact));
        Ok(format!("{name}: {}\n", shown(&exact)))
    };
    proven.into_iter().map(line).collect()
}

#[derive(Default)]
struct Poker {
    /// Names of the cards, and number of suits.
    names: Vec<String>,
    suits: usize,
    /// Cards of each player's hands, as bits.
    hands: Vec<Vec<u64>>,
    /// Number of cards on the board at the end, and bits of the dead cards.
    board: u32,
    dead: u64,
    /// Counts of a straight, a flush and both.
    special: Vec<Vec<usize>>,
    /// Chips and largest number of raises, by round; or largest number of actions; or raises by line.
    limits: Vec<(i64, usize)>,
    cap: usize,
    lines: HashMap<String, Vec<i64>>,
    stack: i64,
    pot: i64,
    /// Worth of a chip, its rake, and the largest rake.
    rates: Vec<BigInt>,
    /// Permutations of the cards.
    permutations: Vec<Vec<usize>>,
    strengths: RefCell<HashMap<u64, u64>>,
}

#[derive(Clone, Default)]
struct Public {
    label: String,
    board: u64,
    paid: [i64; 2],
    /// Actions, raises and chips of the last raise in this round.
    acted: usize,
    raised: usize,
    last: i64,
    /// Permutations that preserve all cards so far.
    group: Vec<usize>,
    /// For each pair of hands 0 if it is impossible, 1 if player 0 loses, 2 at a draw, 3 if player 0 wins.
    pairs: Rc<Vec<u8>>,
}

fn bits(cards: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |card| cards >> card & 1 == 1)
}

/// Read the cards of a text without separators.
fn cards(names: &[String], text: &str) -> Result<Vec<usize>> {
    let Some(card) = names.iter().position(|name| !text.is_empty() && text.starts_with(name)) else {
        ensure!(text.is_empty(), "{text:?} does not begin with a card");
        return Ok(vec![]);
    };
    Ok([vec![card], cards(names, &text[names[card].len()..])?].concat())
}

fn poker(name: &str, parameters: &str, file: &str) -> Result<String> {
    let small = |ranks: &str| anyhow::Ok((0..read::<usize>(ranks)?).map(|rank| rank.to_string()).collect_vec());
    let large = |ranks: &str| ranks.chars().map(String::from).collect_vec();
    let some = |suits: &str| "shdc".get(..read(suits)?).context("too many suits");
    let mut game = Poker { stack: i64::MAX, ..Poker::default() };
    let ([mut board, mut dead], [mut chip, mut rake, mut most]) =
        ([""; 2].map(String::from), ["1", "0", "0"].map(String::from));
    let (mut ranges, mut symmetric, mut ante): (Option<[Pairs<&RawValue>; 2]>, _, _) = (None, false, 1);
    let (ranks, suits);
    match name {
        "kuhn" => {
            let [cards] = fields(parameters, ["cards"])?;
            (ranks, suits, game.limits) = (small(cards)?, "s", vec![(1, 1)]);
        }
        "leduc" => {
            let [count, of_each, bets, cap] = fields(parameters, ["ranks", "suits", "bets", "raise_cap"])?;
            (ranks, suits, game.board) = (small(count)?, some(of_each)?, 1);
            game.limits = read::<[i64; 2]>(bets)?.into_iter().zip([read(cap)?; 2]).collect();
        }
        "nl_leduc" => {
            let [count, of_each, stack, chips, cap] = fields(parameters, ["ranks", "suits", "stack", "ante", "cap"])?;
            (ranks, suits, game.board) = (small(count)?, some(of_each)?, 1);
            (game.stack, ante, game.cap) = (read(stack)?, read(chips)?, read(cap)?);
        }
        "rhode_island" => {
            let [raises, symmetry] = fields(parameters, ["raises", "symmetry"])?;
            (ranks, suits, game.board, ante) = (large("23456789TJQKA"), "cdhs", 2, 5);
            game.limits = [10, 20, 20].into_iter().zip(read::<[usize; 3]>(raises)?).collect();
            (game.special, symmetric) = (vec![vec![2, 3], vec![2, 2], vec![4]], read(symmetry)?);
        }
        "holdem" | "short_deck" => {
            let names = ["board", "dead", "ranges", "pot", "stack", "bets", "chip", "rake", "rake_cap", "symmetry"];
            let texts = fields(parameters, names)?;
            (board, dead, ranges) = (read(texts[0])?, read(texts[1])?, Some(read(texts[2])?));
            (game.pot, game.stack, ante, game.board) = (read(texts[3])?, read(texts[4])?, 0, 5);
            game.lines = read::<Pairs<_>>(texts[5])?.0.into_iter().collect();
            (chip, rake, most, symmetric) = (read(texts[6])?, read(texts[7])?, read(texts[8])?, read(texts[9])?);
            (ranks, suits) = (large(if name == "holdem" { "23456789TJQKA" } else { "6789TJQKA" }), "cdhs");
            game.special = vec![vec![3, 1, 2], if name == "holdem" { vec![3, 1, 3] } else { vec![3, 3] }, vec![5]];
        }
        _ => bail!("the rules of {name:?} are not known"),
    }
    let names = ranks.iter().cartesian_product(suits.chars()).map(|(rank, suit)| format!("{rank}{suit}")).collect_vec();
    ensure!((2..=64).contains(&names.len()), "a deck of {} cards", names.len());
    let (board, dead) = (cards(&names, &board)?, cards(&names, &dead)?);
    ensure!(board.iter().chain(&dead).all_unique(), "the board and the dead cards have a card twice");
    ensure!(ranges.is_none() || (3..=5).contains(&board.len()), "a board of {} cards", board.len());
    let mask = |cards: &[usize]| cards.iter().map(|card| 1 << card).sum::<u64>();
    let start = mask(&board);
    game.dead = mask(&dead);
    let mut weights: Vec<Vec<BigInt>> = vec![];
    for player in 0..2 {
        let one = |(text, weight): &(String, &RawValue)| {
            let hand = cards(&names, text)?;
            ensure!(hand.iter().all_unique(), "{text} has a card twice");
            Ok((mask(&hand), whole_number(weight.get())?))
        };
        let range: Vec<(u64, BigInt)> = match &ranges {
            Some(ranges) => ranges[player].0.iter().map(one).collect::<Result<_>>()?,
            None => (0..names.len()).map(|card| (1 << card, BigInt::one())).collect(),
        };
        let size = 1 + ranges.is_some() as u32;
        let dealt = |hand: u64| hand & (start | game.dead) == 0 && hand.count_ones() == size;
        let legal = range.iter().all(|(hand, weight)| dealt(*hand) && weight.is_positive());
        let different = range.iter().map(|hand| hand.0).all_unique() && !range.is_empty();
        ensure!(legal && different, "a hand of player {player} cannot be dealt");
        let (hands, range) = range.into_iter().unzip();
        game.hands.push(hands);
        weights.push(range);
    }
    let rates = [number(&chip)?, number(&rake)?, number(&most)?];
    let parts = rates.iter().fold(BigRational::from(BigInt::from(2)), |parts, rate| parts * rate.denom());
    game.rates =
        [&rates[0] * &parts, &rates[0] * &rates[1] * &parts, &rates[2] * &parts].map(|rate| rate.to_integer()).to_vec();
    let mut permutations = vec![];
    for suits_of in (0..suits.len()).permutations(suits.len()).take(if symmetric { 24 } else { 1 }) {
        let images =
            (0..names.len()).map(|card| card / suits.len() * suits.len() + suits_of[card % suits.len()]).collect_vec();
        let moved = |cards: u64| bits(cards).map(|card| 1 << images[card]).sum::<u64>();
        let image = |player: usize, hand: usize| {
            let image = game.hands[player].iter().position(|&image| image == moved(game.hands[player][hand]))?;
            (weights[player][image] == weights[player][hand]).then_some(image)
        };
        let of_player =
            |player: usize| (0..weights[player].len()).map(|hand| image(player, hand)).collect::<Option<Vec<_>>>();
        let same = [start, game.dead].map(moved) == [start, game.dead];
        if let (true, Some(first), Some(second)) = (same, of_player(0), of_player(1)) {
            permutations.push(vec![first, second]);
            game.permutations.push(images);
        }
    }
    (game.names, game.suits) = (names, suits.len());
    let (pairs, group) = (game.pairs(start), (0..permutations.len()).collect());
    let possible = weights[0].iter().cartesian_product(&weights[1]).zip(&*pairs).filter(|pair| *pair.1 > 0);
    let unit =
        possible.map(|((first, second), _)| first * second).sum::<BigInt>() * parts.to_integer() * game.chances(start);
    ensure!(unit.is_positive(), "no pair of hands is possible");
    let root = game.act(Public { board: start, paid: [ante; 2], group, pairs, ..Public::default() })?;
    prove(root, weights, permutations, false, unit, file)
}

impl Poker {
    /// Return the number of ways to deal the other cards of the board.
    fn chances(&self, board: u64) -> BigInt {
        let unseen = self.names.len() as u32 - (board | self.dead).count_ones() - 2 * self.hands[0][0].count_ones();
        (board.count_ones()..self.board).zip((0..=unseen).rev()).map(|(_, cards)| BigInt::from(cards)).product()
    }

    fn pairs(&self, board: u64) -> Rc<Vec<u8>> {
        let strength = |&hand: &u64| {
            let known = |cards| *self.strengths.borrow_mut().entry(cards).or_insert_with(|| self.strength(cards));
            (board.count_ones() == self.board && hand & board == 0).then(|| known(hand | board))
        };
        let [first, second] =
            [0, 1].map(|player| self.hands[player].iter().map(|hand| (*hand, strength(hand))).collect_vec());
        let pair = |((hand, strength), (other, against)): (&(u64, Option<u64>), &(u64, Option<u64>))| {
            let possible = hand & other | (hand | other) & board == 0;
            possible as u8 * (2 + strength.cmp(against) as i8) as u8
        };
        Rc::new(first.iter().cartesian_product(&second).map(pair).collect())
    }

    /// Return a number that is higher for better cards.
    fn strength(&self, cards: u64) -> u64 {
        if cards.count_ones() > 5 {
            return bits(cards).map(|card| self.strength(cards ^ 1 << card)).max().unwrap();
        }
        let ranks = bits(cards).map(|card| card / self.suits + 2).counts();
        let ranks = ranks.into_iter().map(|(rank, count)| (count, rank)).sorted().rev();
        let (mut counts, mut ranks): (Vec<_>, Vec<_>) = ranks.unzip();
        let (size, lowest) = (cards.count_ones() as usize, ranks.len() - 1);
        if !self.special.is_empty()
            && ranks.len() == size
            && ranks[0] == self.names.len() / self.suits + 1
            && ranks[1] == size
        {
            // The ace is below the lowest rank.
            ranks.rotate_left(1);
            ranks[lowest] = 1;
        }
        let straight = ranks.len() == size && ranks[0] - ranks[lowest] == size - 1;
        let flush = bits(cards).map(|card| card % self.suits).all_equal();
        if (straight || flush) && !self.special.is_empty() {
            counts = self.special[straight as usize + 2 * flush as usize - 1].clone();
        }
        counts.resize(5, 0);
        ranks.resize(5, 0);
        counts.iter().chain(&ranks).fold(0, |code, &part| code * 64 + part as u64)
    }

    /// Return the node of the player to act.
    fn act(&self, state: Public) -> Result<Node<'_, BigInt>> {
        if state.paid == [self.stack; 2] {
            return Ok(self.deal(state));
        }
        let player = state.acted % 2;
        let (own, other) = (state.paid[player], state.paid[1 - player]);
        let after = |word: &str, total: i64| {
            let mut next = Public { label: format!("{} {word}", state.label), acted: state.acted + 1, ..state.clone() };
            next.paid[player] = total;
            if total > other {
                (next.raised, next.last) = (state.raised + 1, total - other);
            }
            next
        };
        let mut actions: Vec<(String, Next<BigInt>)> = vec![];
        if own < other {
            let folded = self.end(&state, Some(player));
            actions.push(("fold".to_string(), Box::new(move || Ok(folded))));
        }
        let called = after("call", other);
        actions.push((
            "call".to_string(),
            Box::new(move || if called.acted > 1 { Ok(self.deal(called)) } else { self.act(called) }),
        ));
        for total in self.raises(&state, own, other)? {
            let next = after(&total.to_string(), total);
            actions.push((total.to_string(), Box::new(move || self.act(next))));
        }
        Ok(Node::Act(player, state.label.trim_start().to_string(), actions))
    }

    /// Return the totals to which a player can raise.
    fn raises(&self, state: &Public, own: i64, other: i64) -> Result<Vec<i64>> {
        if let Some((chips, most)) = self.limits.get(state.board.count_ones() as usize) {
            return Ok(if state.raised < *most { vec![other + chips] } else { vec![] });
        }
        if self.cap > 0 {
            let least = own + (2 * (other - own)).max(1);
            return Ok(if state.acted + 1 < self.cap && other < self.stack {
                (least.min(self.stack)..=self.stack).collect()
            } else {
                vec![]
            });
        }
        let line = state.label.split_whitespace().filter(|word| !self.names.iter().any(|name| name == word)).join(" ");
        let raises = self.lines.get(&line).cloned().unwrap_or_default();
        let legal = |&total: &i64| {
            other < total && (total == self.stack || other + state.last.max(1) <= total && total < self.stack)
        };
        ensure!(
            raises.iter().all(legal) && raises.iter().tuple_windows().all(|(low, high)| low < high),
            "raises after {line:?}: {raises:?}"
        );
        Ok(raises)
    }

    /// Return the node after a round.
    fn deal(&self, state: Public) -> Node<'_, BigInt> {
        if state.board.count_ones() == self.board {
            return self.end(&state, None);
        }
        let mut outcomes: Vec<(Vec<usize>, Next<BigInt>)> = vec![];
        for card in (0..self.names.len()).filter(|card| (state.board | self.dead) >> card & 1 == 0) {
            let image = |group: &usize| self.permutations[*group][card];
            if state.group.iter().any(|group| image(group) < card) {
                continue;
            }
            let next = Public {
                label: format!("{} {}", state.label, self.names[card]),
                board: state.board | 1 << card,
                paid: state.paid,
                group: state.group.iter().copied().filter(|group| image(group) == card).collect(),
                pairs: self.pairs(state.board | 1 << card),
                ..Public::default()
            };
            let copies = state.group.iter().copied().unique_by(|group| image(group)).collect();
            outcomes.push((copies, Box::new(move || self.act(next))));
        }
        Node::Chance(state.group, outcomes)
    }

    /// Return the payoffs after a fold or at the showdown.
    fn end(&self, state: &Public, folded: Option<usize>) -> Node<'_, BigInt> {
        let pot = BigInt::from(self.pot + 2 * state.paid[0].min(state.paid[1]));
        let rake = self.rates[2].clone().min(&self.rates[1] * &pot);
        let half: BigInt = &self.rates[0] * pot / 2;
        let [win, lose, draw] = [&half - &rake, -half, -rake / 2].map(|payoff| payoff * self.chances(state.board));
        let mut payoffs =
            vec![vec![BigInt::zero(); 2], vec![lose.clone(), win.clone()], vec![draw.clone(), draw], vec![win, lose]];
        if let Some(player) = folded {
            let payoff = payoffs[1 + 2 * player].clone();
            payoffs[1..].fill(payoff);
        }
        Node::End(state.pairs.clone(), payoffs)
    }
}

/// Return the node of liar's dice after some bids.
fn liars_dice<'a>(
    rolls: &'a [Vec<Vec<usize>>; 2], bids: &'a [(usize, usize)], wild: usize, past: Vec<usize>,
) -> Node<'a, BigInt> {
    let name = |&bid: &usize| format!("{}x{}", bids[bid].0, bids[bid].1);
    let player = past.len() % 2;
    let mut actions: Vec<(String, Next<BigInt>)> = vec![];
    for bid in past.last().map_or(0, |bid| bid + 1)..bids.len() {
        let next = [&past[..], &[bid]].concat();
        actions.push((name(&bid), Box::new(move || Ok(liars_dice(rolls, bids, wild, next)))));
    }
    if let Some(&bid) = past.last() {
        let liar = move || {
            let (least, face) = bids[bid];
            let count = |roll: &Vec<usize>| roll.iter().filter(|&&die| die == face || die == wild).count();
            let truth =
                rolls[0].iter().cartesian_product(&rolls[1]).map(|(roll, other)| count(roll) + count(other) >= least);
            let lost = [0, 1].map(|other| BigInt::from(if other == player { -1 } else { 1 })).to_vec();
            Ok(Node::End(
                Rc::new(truth.map(u8::from).collect()),
                vec![lost.iter().map(|payoff| -payoff).collect(), lost],
            ))
        };
        actions.push(("liar".to_string(), Box::new(liar)));
    }
    Node::Act(player, past.iter().map(name).join(" "), actions)
}

struct Goofspiel {
    cards: usize,
    imperfect: bool,
    prizes: String,
    payoff: String,
}

impl Goofspiel {
    /// Return the node after some rounds (a prize and both bids), with the next prize and player 0's bid, if they are known.
    fn node(&self, rounds: Vec<[usize; 3]>, prize: Option<usize>, bid: Option<usize>) -> Result<Node<'_, BigRational>> {
        let left = |column: usize| {
            (1..=self.cards).filter(|card| rounds.iter().all(|round| round[column] != *card)).collect_vec()
        };
        let ended = |prize, bids: [usize; 2]| [&rounds[..], &[[prize, bids[0], bids[1]]]].concat();
        let [prizes, first, second] = [0, 1, 2].map(left);
        if prizes.len() == 1 {
            let points = |player: usize| {
                let won = ended(prizes[0], [first[0], second[0]])
                    .into_iter()
                    .filter(move |round| round[1 + player] > round[2 - player]);
                won.map(|round| round[0] as i64).sum::<i64>()
            };
            let (first, second) = (points(0), points(1));
            let doubled = match self.payoff.as_str() {
                "win_loss" => [2 * (first - second).signum(), 2 * (second - first).signum()],
                "point_difference" => [first - second, second - first],
                "total_points" => [2 * first, 2 * second],
                payoff => bail!("payoff {payoff:?}"),
            };
            return Ok(Node::End(
                Rc::new(vec![0]),
                vec![doubled.map(|payoff| BigRational::new(payoff.into(), 2.into())).to_vec()],
            ));
        }
        let Some(prize) = prize else {
            let next = match self.prizes.as_str() {
                "ascending" => &prizes[..1],
                "descending" => &prizes[prizes.len() - 1..],
                "random" => &prizes[..],
                order => bail!("prizes {order:?}"),
            };
            let node = |&prize: &usize| {
                let rounds = rounds.clone();
                (vec![0], Box::new(move || self.node(rounds, Some(prize), None)) as Next<_>)
            };
            return Ok(Node::Chance(vec![], next.iter().map(node).collect()));
        };
        let player = bid.is_some() as usize;
        let past =
            rounds.iter().map(|round| match (self.imperfect, round[1 + player].cmp(&round[2 - player]) as i8 + 1) {
                (true, order) => format!("{}:{}{} ", round[0], round[1 + player], ["-", "=", "+"][order as usize]),
                (false, _) => format!("{}:{},{} ", round[0], round[1], round[2]),
            });
        let action = |&card: &usize| {
            let (rounds, prize, bid) = match bid {
                None => (rounds.clone(), Some(prize), Some(card)),
                Some(bid) => (ended(prize, [bid, card]), None, None),
            };
            (card.to_string(), Box::new(move || self.node(rounds, prize, bid)) as Next<_>)
        };
        Ok(Node::Act(
            player,
            format!("P{player} {}{prize}?", past.format("")),
            [&first, &second][player].iter().map(action).collect(),
        ))
    }
}

/// Return a node of a tree, after chances of this product.
fn tree<'a>(text: &'a str, chances: BigRational) -> Result<Node<'a, BigRational>> {
    let items: Vec<&RawValue> = read(text)?;
    let items = items.into_iter().map(RawValue::get).collect_vec();
    Ok(match items[..] {
        [r#""act""#, player, label, actions] => {
            let next = |(name, node): (String, &'a RawValue)| {
                let chances = chances.clone();
                (name, Box::new(move || tree(node.get(), chances)) as Next<_>)
            };
            Node::Act(read(player)?, read(label)?, read::<Pairs<_>>(actions)?.0.into_iter().map(next).collect())
        }
        [r#""chance""#, ref outcomes @ ..] => {
            let (mut sum, mut nodes) = (BigRational::zero(), vec![]);
            for outcome in outcomes {
                let (chance, node): (String, &RawValue) = read(outcome)?;
                let chance = number(&chance)?;
                ensure!(!chance.is_negative(), "the probability {chance} is negative");
                sum += &chance;
                let chances = chance * &chances;
                nodes.push((vec![0], Box::new(move || tree(node.get(), chances)) as Next<_>));
            }
            ensure!(sum.is_one(), "probabilities sum to {sum}");
            Node::Chance(vec![], nodes)
        }
        [r#""end""#, ref payoffs @ ..] => {
            let payoff = |payoff: &&str| Ok(number(&read::<String>(payoff)?)? * &chances);
            Node::End(Rc::new(vec![0]), vec![payoffs.iter().map(payoff).collect::<Result<_>>()?])
        }
        _ => bail!("{} is not a node", text.chars().take(60).collect::<String>()),
    })
}

fn check(file: &str) -> Result<String> {
    let [format, game, ..] = fields(file, ["format", "game", "totals", "strategies", "digest", "claims"])?;
    ensure!(read::<String>(format)? == "tensorcfr certificate 2", "the format is {format}");
    let [name, parameters, _] = fields(game, ["name", "parameters", "digest"])?;
    let one_hand = |players: usize| (vec![vec![BigRational::one()]; players], vec![vec![vec![0]; players]]);
    match read::<String>(name)?.as_str() {
        "liars_dice" => {
            let [dice, faces, wild, bid_wild] = fields(parameters, ["dice", "faces", "wild", "bid_wild"])?;
            let (dice, faces): ([usize; 2], usize) = (read(dice)?, read(faces)?);
            ensure!(faces > 0, "a die without faces");
            let rolls = dice.map(|dice| (0..dice).map(|_| 1..=faces).multi_cartesian_product().collect_vec());
            let bids =
                (1..=dice[0] + dice[1]).cartesian_product(1..=faces - !read::<bool>(bid_wild)? as usize).collect_vec();
            let hands = rolls.iter().map(|rolls| vec![BigInt::one(); rolls.len()]).collect_vec();
            let unit = hands[0].iter().sum::<BigInt>() * hands[1].len();
            prove(
                liars_dice(&rolls, &bids, if read(wild)? { faces } else { 0 }, vec![]),
                hands,
                vec![],
                false,
                unit,
                file,
            )
        }
        "goofspiel" => {
            let names = ["cards", "imperfect_information", "prizes", "payoff"];
            let [cards, imperfect, prizes, payoff] = fields(parameters, names)?;
            let game = Goofspiel {
                cards: read(cards)?,
                imperfect: read(imperfect)?,
                prizes: read(prizes)?,
                payoff: read(payoff)?,
            };
            ensure!(game.cards > 1, "{cards} cards");
            let orders =
                (1..=if game.prizes == "random" { game.cards } else { 1 }).map(BigInt::from).product::<BigInt>();
            let (hands, permutations) = one_hand(2);
            let root = game.node(vec![], None, None)?;
            prove(root, hands, permutations, true, orders.into(), file)
        }
        "tree" => {
            let [players, root] = fields(parameters, ["players", "tree"])?;
            let (hands, permutations) = one_hand(read(players)?);
            prove(tree(root, BigRational::one())?, hands, permutations, true, BigRational::one(), file)
        }
        name => poker(name, parameters, file),
    }
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    // Trees may be deep.
    let work = move || std::fs::read_to_string(path).map_err(Into::into).and_then(|file| check(&file));
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work).expect("a thread");
    match thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a number is too large"))) {
        Ok(lines) => print!("{lines}"),
        Err(reason) => {
            eprintln!("refused: {reason:#}");
            std::process::exit(1)
        }
    }
}
