//! Proves the claims of a certificate, or refuses the file. docs/certificates.md has the rules.

use anyhow::{bail, ensure, Context, Result};
use itertools::{iproduct, izip, Itertools};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sha2::{Digest, Sha256};
use std::{cell::RefCell, collections::HashMap, iter::once, str::FromStr, str::Split};

/// The rules; their parameters with the number of values, if it is not 1, or all values; and those that are fixed.
const GAMES: [(&str, &str, &str); 9] = [
    ("kuhn", "ranks", "suits 1;ante 1;come 0;bets 1;caps 1"),
    ("leduc", "ranks suits bets:2 caps:2", "ante 1;come 1"),
    ("nl_leduc", "ranks suits ante stack actions", "come 1;bets any"),
    ("rhode_island", "caps:3 merged:no|yes", "ante 5;come 2;bets 10 20 20;special 23 22 4;ranks 13"),
    ("holdem", HOLDEM, "hand 2;come 5;bets listed;special 312 313 5;ranks 13"),
    ("short_deck", HOLDEM, "hand 2;come 5;bets listed;special 312 33 5;ranks 9"),
    ("liars_dice", "dice:2 faces bid_faces wild", "unit 1"),
    ("goofspiel", GOOFSPIEL, ""),
    ("tree", "players unit", ""),
];
const HOLDEM: &str = "board:* dead:* hands:2 pot stack raises:* unit rates:3 merged:no|yes";
const GOOFSPIEL: &str =
    "cards bids:hidden|seen prizes:ascending|descending|random payoff:win_loss|point_difference|total_points";
const DEFAULT: &str =
    "players 2;suits 4;hand 1;board;dead;hands all all;pot 0;ante 0;stack 18446744073709551615;raises;\
                       actions 1;special;unit 1/2;rates 1 0 0;merged no";

fn number<T: FromStr>(word: &str) -> Result<T> {
    // Rust would read more signs, and underscores. The type says whether there can be a sign or a fraction.
    let digits = word.strip_prefix('-').unwrap_or(word);
    ensure!(
        word.len() < 10_000 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/'),
        "{word:?} is not a number"
    );
    word.parse().ok().with_context(|| format!("{word:?} is not a number of this kind"))
}

fn numbers<T: FromStr>(words: &[&str]) -> Result<Vec<T>> {
    words.iter().map(|word| number(word)).collect()
}

fn weights(words: &[&str]) -> Result<Vec<BigInt>> {
    Ok(numbers::<BigUint>(words)?.into_iter().map(BigInt::from).collect())
}

/// Returns the fields of the next line after its first field, which is known.
fn named<'a>(lines: &mut Split<'a, char>, name: &str) -> Result<Vec<&'a str>> {
    let mut fields = lines.next().context("the file ends early")?.split('\t');
    ensure!(fields.next() == Some(name), "there is another line in place of {name:?}");
    Ok(fields.collect())
}

/// A traversal. A *sequence* is the own actions of a player up to a node.
struct Proof<'a> {
    parameters: HashMap<&'a str, Vec<&'a str>>,
    lines: Split<'a, char>,
    /// Of the players, then of chance: the sum over its outcomes and the deal.
    totals: Vec<BigInt>,
    /// For each player: the weights of the hands in the deal.
    deals: Vec<Vec<BigInt>>,
    /// For each sequence: the weights of the hands, times those in the deal.
    weights: Vec<Vec<BigInt>>,
    /// For each sequence: the payoffs of each hand that follow, summed over the hands of the others.
    sums: Vec<Vec<BigInt>>,
    /// The last sequence of each player.
    path: Vec<usize>,
    /// By label: the sequence before, the first sequence after, and the line.
    infosets: HashMap<String, (usize, usize, Vec<&'a str>)>,
    values: Vec<BigInt>,
}

impl<'a> Proof<'a> {
    fn whole(&self, name: &str) -> Result<usize> {
        number(self.parameters[name][0])
    }

    /// Starts with the weights of the hands of each player in the deal, and the sum of those of chance.
    fn start(&mut self, deals: Vec<Vec<BigInt>>, chance: BigInt) -> Result<()> {
        self.totals[deals.len()] = chance;
        ensure!(self.totals.iter().all(BigInt::is_positive), "nothing can be dealt");
        for (player, deals) in deals.iter().enumerate() {
            self.add_sequence(deals.iter().map(|deal| deal * &self.totals[player]).collect());
            self.path.push(player);
            self.values.push(BigInt::zero());
        }
        self.deals = deals;
        Ok(())
    }

    fn add_sequence(&mut self, weights: Vec<BigInt>) {
        self.sums.push(vec![BigInt::zero(); weights.len()]);
        self.weights.push(weights);
    }

    /// Visits a decision; `next` visits the node after an action.
    fn decide(
        &mut self, player: usize, label: String, actions: &[String], next: &dyn Fn(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        let (before, new) = (self.path[player], self.weights.len());
        let (same, first, fields) = match self.infosets.get(&label) {
            Some(infoset) => infoset.clone(),
            None => (before, new, named(&mut self.lines, &label)?),
        };
        let same = same == before && fields.iter().step_by(2).eq(actions) && fields.len() == 2 * actions.len();
        ensure!(same && !actions.is_empty(), "the player's actions at {label:?}, or those before, are others");
        if first == new {
            let mut rest = self.weights[before].clone();
            for field in fields.iter().skip(1).step_by(2) {
                let mut after = vec![BigInt::zero(); rest.len()];
                let dealt = self.deals[player].iter().enumerate().filter(|(_, deal)| !deal.is_zero());
                for pair in dealt.zip_longest(weights(&field.split(' ').collect_vec())?) {
                    let ((hand, deal), weight) = pair.both().context("there are not as many weights as hands")?;
                    after[hand] = weight * deal;
                    rest[hand] -= &after[hand];
                }
                self.add_sequence(after);
            }
            ensure!(rest.iter().all(BigInt::is_zero), "the weights of {label:?} do not sum to those before");
            self.infosets.insert(label.clone(), (before, first, fields));
        }
        for action in 0..actions.len() {
            self.path[player] = first + action;
            next(self, action)?;
        }
        self.path[player] = before;
        // If players have several hands, an infoset is a hand at only one node.
        if self.deals.iter().any(|deals| deals.len() > 1) {
            self.respond(&label);
        }
        Ok(())
    }

    /// Adds the best response at an infoset to the sequence before. No other infoset follows it.
    fn respond(&mut self, label: &str) {
        let (before, first, _) = self.infosets.remove(label).unwrap();
        self.weights.truncate(first);
        let options = self.sums.split_off(first);
        for (hand, sum) in self.sums[before].iter_mut().enumerate() {
            *sum += options.iter().map(|option| &option[hand]).max().unwrap();
        }
    }

    /// Visits a node that stands for several with permuted hands. Payoffs after it count for all of them.
    fn repeat(&mut self, maps: &[&Vec<usize>], next: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        let (before, first) = (self.path.clone(), self.weights.len());
        self.path = (first..first + before.len()).collect();
        for sequence in &before {
            self.add_sequence(self.weights[*sequence].clone());
        }
        next(self)?;
        self.weights.truncate(first);
        for (&to, sums) in before.iter().zip(self.sums.split_off(first)) {
            for (map, (hand, sum)) in iproduct!(maps, sums.iter().enumerate()) {
                self.sums[to][map[hand]] += sum / maps.len();
            }
        }
        self.path = before;
        Ok(())
    }

    /// Ends a history. The outcome is the index of a payoff for a player, a hand and a hand of the rival, if possible.
    fn end(&mut self, payoffs: &[BigInt], outcome: impl Fn(usize, usize, usize) -> Option<usize>) -> Result<()> {
        for player in 0..self.path.len() {
            let mut rivals = self.path.clone();
            let sequence = rivals.remove(player);
            // Several rivals have one hand each, and no rival has a weight of 1.
            let hands = rivals.first().map_or(1, |&rival| self.weights[rival].len());
            let weights = (0..hands).map(|hand| rivals.iter().map(|&rival| &self.weights[rival][hand]).product());
            let weights = weights.enumerate().filter(|(_, weight): &(_, BigInt)| !weight.is_zero()).collect_vec();
            for hand in 0..self.weights[sequence].len() {
                let mut met = vec![BigInt::zero(); payoffs.len()];
                for (other, weight) in &weights {
                    if let Some(index) = outcome(player, hand, *other) {
                        met[index] += weight;
                    }
                }
                let sum: BigInt = izip!(met, payoffs).map(|(met, payoff)| met * payoff).sum();
                self.values[player] += &sum * &self.weights[sequence][hand];
                self.sums[sequence][hand] += sum;
            }
        }
        Ok(())
    }
}

fn tree(proof: &mut Proof, chance: &BigInt) -> Result<()> {
    let fields = proof.lines.next().context("the tree ends early")?.split('\t').collect_vec();
    match fields[..] {
        ["infoset", player, label, ref actions @ ..] => {
            let (player, actions) = (number(player)?, actions.iter().map(|action| action.to_string()).collect_vec());
            let right = player < proof.path.len() && actions.iter().all_unique();
            ensure!(right, "{fields:?} is no infoset");
            proof.decide(player, label.to_string(), &actions, &|proof, _| tree(proof, chance))
        }
        ["chance", ref outcomes @ ..] => {
            let outcomes = weights(outcomes)?;
            ensure!(outcomes.iter().sum::<BigInt>() == *chance, "{fields:?} do not sum to {chance}");
            outcomes.iter().try_for_each(|outcome| tree(proof, outcome))
        }
        ["end", ref payoffs @ ..] if payoffs.len() == proof.path.len() => {
            let payoffs = numbers::<BigInt>(payoffs)?.iter().map(|payoff| payoff * chance).collect_vec();
            proof.end(&payoffs, |player, _, _| Some(player))
        }
        _ => bail!("{fields:?} is no node"),
    }
}

/// The past has the numbers of the bids.
fn liars_dice(proof: &mut Proof, past: &[usize]) -> Result<()> {
    let (faces, wild) = (proof.whole("faces")?, proof.whole("wild")?);
    let dice: Vec<usize> = numbers(&proof.parameters["dice"])?;
    let bids = iproduct!(1..=dice[0] + dice[1], 1..=proof.whole("bid_faces")?).collect_vec();
    let names = bids.iter().map(|(number, face)| format!("{number}x{face}")).collect_vec();
    let (player, first) = (past.len() % 2, past.last().map_or(0, |last| last + 1));
    let liar = past.last().map(|_| "liar".to_string());
    let actions = names[first..].iter().cloned().chain(liar).collect_vec();
    proof.decide(player, past.iter().map(|&bid| &names[bid]).join(" "), &actions, &|proof, action| {
        if first + action < bids.len() {
            return liars_dice(proof, &[past, &[first + action]].concat());
        }
        let (number, face) = bids[first - 1];
        // The dice of a roll are the digits of its number.
        let count = |player: usize, roll: usize| {
            let dice = (0..dice[player]).map(|die| roll / faces.pow(die as u32) % faces + 1);
            dice.filter(|&die| die == face || die == wild).count()
        };
        proof.end(&[1.into(), (-1).into()], |own, roll, other| {
            let truth = count(own, roll) + count(1 - own, other) >= number;
            Some((truth == (own == player)) as usize)
        })
    })
}

/// The past has the prize, the bid of player 0 and that of player 1 of each round.
fn goofspiel(proof: &mut Proof, past: &[usize]) -> Result<()> {
    let [prizes, first, second] = [0, 1, 2].map(|part| past.iter().copied().skip(part).step_by(3).collect_vec());
    let taken = [&prizes, &first, &second][past.len() % 3];
    let left = (1..=proof.whole("cards")?).filter(|card| !taken.contains(card)).collect_vec();
    let next = |proof: &mut Proof, card: &usize| goofspiel(proof, &[past, &[*card]].concat());
    let [bids, order, payoff] = ["bids", "prizes", "payoff"].map(|name| proof.parameters[name][0]);
    let sides = [[&first, &second], [&second, &first]];
    match (past.len() % 3, left.len()) {
        (0, 0) => {
            let payoffs = sides.map(|[own, other]| {
                let prizes =
                    izip!(&prizes, own, other).map(|(prize, own, other)| (*prize as i64, own.cmp(other) as i64));
                let difference: i64 = prizes.clone().map(|(prize, winner)| prize * winner).sum();
                BigInt::from(match payoff {
                    "win_loss" => 2 * difference.signum(),
                    "point_difference" => difference,
                    _ => prizes.map(|(prize, winner)| 2 * prize * winner.max(0)).sum(),
                })
            });
            proof.end(&payoffs, |player, _, _| Some(player))
        }
        (0, _) if order == "random" => left.iter().try_for_each(|prize| next(proof, prize)),
        (0, number) => next(proof, &left[if order == "ascending" { 0 } else { number - 1 }]),
        (_, 1) => next(proof, &left[0]),
        (turn, _) => {
            let [own, other] = sides[turn - 1];
            let results = izip!(own, other).map(|(own, other)| match bids {
                "seen" => other.to_string(),
                _ => ["-", "=", "+"][(own.cmp(other) as i8 + 1) as usize].to_string(),
            });
            let label = prizes.iter().chain(own).map(usize::to_string).chain(results).join(" ");
            let actions = left.iter().map(usize::to_string).collect_vec();
            proof.decide(turn - 1, format!("P{} {label}", turn - 1), &actions, &|proof, card| next(proof, &left[card]))
        }
    }
}

/// The cards are numbered by rank, then by suit: four to a rank, even if there are fewer suits.
struct Poker {
    names: Vec<String>,
    board: Vec<usize>,
    /// The cards that can come, and their number if two hands are known.
    free: Vec<usize>,
    left: i64,
    hands: Vec<Vec<usize>>,
    /// Have two hands no common card?
    apart: Vec<Vec<bool>>,
    /// Of each line, without the cards.
    raises: HashMap<String, Vec<usize>>,
    /// Permutations of the cards and of the hands.
    symmetries: Vec<(Vec<usize>, Vec<usize>)>,
    /// By cards that came.
    strengths: RefCell<HashMap<Vec<usize>, Vec<Option<usize>>>>,
}

#[derive(Clone, Default)]
struct Bets {
    paid: [usize; 2],
    /// Chips above the total of the opponent, for each action of the round.
    raised: Vec<usize>,
    label: Vec<String>,
    cards: Vec<usize>,
    /// The weight of chance, for all nodes for which this one stands.
    weight: BigInt,
}

fn poker(proof: &mut Proof) -> Result<()> {
    let (ranks, suits, ante) = (proof.whole("ranks")?, proof.whole("suits")?, proof.whole("ante")?);
    let right = suits <= 4 && ante <= proof.whole("stack")? && proof.whole("actions")? > 0;
    ensure!(right, "there are too many suits, too few chips or too few actions");
    let names = iproduct!(0..ranks, 0..4).map(|(rank, suit)| match proof.parameters["special"].is_empty() {
        true => format!("{rank}{}", &"shdc"[suit..][..1]),
        false => format!("{}{}", &"23456789TJQKA"[13 - ranks + rank..][..1], &"cdhs"[suit..][..1]),
    });
    let names = names.collect_vec();
    let known = proof.parameters["board"].iter().chain(&proof.parameters["dead"]);
    let known: Option<Vec<usize>> = known.map(|card| names.iter().position(|name| name == card)).collect();
    let known = known.filter(|known| known.iter().all_unique()).context("a card is unknown, or there twice")?;
    let (board, dead) = known.split_at(proof.parameters["board"].len());
    let to_come = proof.whole("come")?.checked_sub(board.len()).filter(|&number| number < 3);
    let to_come = to_come.context("the board has another size")? as i64;
    let free = (0..4 * ranks).filter(|card| card % 4 < suits && !known.contains(card)).collect_vec();
    let hands = free.iter().copied().combinations(proof.whole("hand")?).collect_vec();
    let ranges = proof.parameters["hands"].iter().map(|field| match *field {
        "all" => Ok(vec![BigInt::one(); hands.len()]),
        words => weights(&words.split(' ').collect_vec()),
    });
    let ranges: Vec<Vec<BigInt>> = ranges.try_collect()?;
    ensure!(ranges.iter().all(|range| range.len() == hands.len()), "there is another number of hands");
    let dealt = (0..hands.len()).filter(|&hand| ranges.iter().any(|range| range[hand].is_positive())).collect_vec();
    let hands = dealt.iter().map(|&hand| hands[hand].clone()).collect_vec();
    let deals = ranges.iter().map(|range| dealt.iter().map(|&hand| range[hand].clone()).collect_vec()).collect_vec();
    let mut raises = HashMap::new();
    for field in &proof.parameters["raises"] {
        let (line, totals) = field.split_once(':').context("raises have no line")?;
        let totals: Vec<usize> = numbers(&totals.split(' ').collect_vec())?;
        let rising = totals.iter().tuple_windows().all(|(low, high)| low < high);
        ensure!(rising && raises.insert(line.to_string(), totals).is_none(), "the raises {field:?} are wrong");
    }
    let symmetries = (0..4).permutations(4).filter_map(|suit| {
        let cards = (0..4 * ranks).map(|card| card - card % 4 + suit[card % 4]).collect_vec();
        let moved = |hand: usize| hands[hand].iter().map(|&card| cards[card]).sorted().collect_vec();
        let same = |hand: usize, to: usize| deals.iter().all(|deals| deals[to] == deals[hand]);
        let maps = (0..hands.len()).map(|hand| hands.binary_search(&moved(hand)).ok().filter(|&to| same(hand, to)));
        let maps: Option<Vec<usize>> = maps.collect();
        let preserved = |set: &[usize]| set.iter().all(|&card| set.contains(&cards[card]));
        maps.filter(|_| preserved(board) && preserved(dead)).map(|maps| (cards, maps))
    });
    let symmetries = symmetries.take(if proof.parameters["merged"] == ["yes"] { 24 } else { 1 }).collect_vec();
    let apart = |own: &Vec<usize>| hands.iter().map(|other| !own.iter().any(|card| other.contains(card))).collect();
    let apart: Vec<Vec<bool>> = hands.iter().map(apart).collect();
    let pairs = iproduct!(0..hands.len(), 0..hands.len()).filter(|&(own, other)| apart[own][other]);
    let pairs: BigInt = pairs.map(|(own, other)| &deals[0][own] * &deals[1][other]).sum();
    let left = free.len() as i64 - 2 * proof.whole("hand")? as i64;
    let weight: BigInt = (0..to_come).map(|came| BigInt::from(left - came)).product();
    proof.start(deals, pairs * &weight)?;
    let (strengths, board) = (RefCell::default(), board.to_vec());
    let game = Poker { names, board, free, left, hands, apart, raises, symmetries, strengths };
    game.bet(proof, &Bets { paid: [ante; 2], weight, ..Bets::default() })
}

impl Poker {
    fn bet(&self, proof: &mut Proof, bets: &Bets) -> Result<()> {
        if bets.paid == [proof.whole("stack")?; 2] {
            return self.deal(proof, bets);
        }
        let player = bets.raised.len() % 2;
        let high = bets.paid[1 - player];
        let fold = (bets.paid[player] < high).then_some("fold".to_string());
        let raises = self.raises(proof, bets, high)?;
        let actions =
            fold.into_iter().chain(once("call".into())).chain(raises.iter().map(usize::to_string)).collect_vec();
        proof.decide(player, bets.label.join(" "), &actions, &|proof, action| {
            let action = &actions[action];
            let mut next = bets.clone();
            next.paid[player] = action.parse().unwrap_or(high);
            next.raised.push(next.paid[player] - high);
            next.label.push(action.clone());
            match action.as_str() {
                "fold" => self.end(proof, bets, Some(player)),
                "call" if !bets.raised.is_empty() => self.deal(proof, &next),
                _ => self.bet(proof, &next),
            }
        })
    }

    /// Returns the totals to which a player can raise.
    fn raises(&self, proof: &Proof, bets: &Bets, high: usize) -> Result<Vec<usize>> {
        let (round, stack) = (bets.cards.len(), proof.whole("stack")?);
        let least = high + bets.raised.last().map_or(1, |&raise| raise.max(1));
        let legal = if high < stack { least.min(stack)..=stack } else { 1..=0 };
        let totals = match proof.parameters["bets"][..] {
            ["listed"] => {
                let line = bets.label.iter().filter(|word| !self.names.contains(word)).join(" ");
                self.raises.get(&line).cloned().unwrap_or_default()
            }
            ["any"] if bets.raised.len() + 1 < proof.whole("actions")? => legal.clone().collect(),
            ["any"] => vec![],
            ref sizes => {
                let raised = bets.raised.iter().filter(|&&raise| raise > 0).count();
                let more = raised < number(proof.parameters["caps"][round])?;
                vec![high + number::<usize>(sizes[round])?; more as usize]
            }
        };
        ensure!(totals.iter().all(|total| legal.contains(total)), "a raise after {:?} is not legal", bets.label);
        Ok(totals)
    }

    fn deal(&self, proof: &mut Proof, bets: &Bets) -> Result<()> {
        if self.board.len() + bets.cards.len() == proof.whole("come")? {
            return self.end(proof, bets, None);
        }
        let symmetries = self.symmetries.iter().filter(|(cards, _)| bets.cards.iter().all(|&card| cards[card] == card));
        let symmetries = symmetries.collect_vec();
        for (&sequence, (_, maps)) in iproduct!(&proof.path, symmetries.iter().copied()) {
            let weights = &proof.weights[sequence];
            let same = izip!(maps, weights).all(|(&to, weight)| weights[to] == *weight);
            ensure!(same, "the weights before a card change with the suits");
        }
        for &card in self.free.iter().filter(|card| !bets.cards.contains(card)) {
            let images = symmetries.iter().unique_by(|(cards, _)| cards[card]).collect_vec();
            if images.iter().all(|(cards, _)| cards[card] >= card) {
                let mut next = Bets { raised: vec![], ..bets.clone() };
                next.weight = next.weight * images.len() / (self.left - bets.cards.len() as i64);
                next.cards.push(card);
                next.label.push(self.names[card].clone());
                let maps = images.iter().map(|(_, maps)| maps).collect_vec();
                proof.repeat(&maps, |proof| self.bet(proof, &next))?;
            }
        }
        Ok(())
    }

    fn end(&self, proof: &mut Proof, bets: &Bets, loser: Option<usize>) -> Result<()> {
        let mut strengths = self.strengths.borrow_mut();
        let strengths = strengths.entry(bets.cards.clone()).or_insert_with(|| self.strengths(proof, &bets.cards));
        let pot = proof.whole("pot")? + 2 * bets.paid.iter().min().unwrap();
        let rates = weights(&proof.parameters["rates"])?;
        let (price, rake) = (&rates[0] * pot, (&rates[1] * pot).min(rates[2].clone()));
        let payoffs = [&price - &rake * 2, -rake, -price].map(|payoff| payoff * &bets.weight);
        proof.end(&payoffs, |player, own, other| {
            let order = strengths[other]?.cmp(&strengths[own]?) as i8 + 1;
            self.apart[own][other].then(|| loser.map_or(order as usize, |loser| 2 * (loser == player) as usize))
        })
    }

    /// Returns a number for each hand that is possible. At the end it is greater for a better hand.
    fn strengths(&self, proof: &Proof, came: &[usize]) -> Vec<Option<usize>> {
        let ranks = self.hands.iter().map(|hand| {
            let cards = [&self.board, came, hand].concat().into_iter().sorted().collect_vec();
            let best =
                cards.iter().copied().combinations(cards.len().min(5)).map(|cards| self.rank(proof, &cards)).max();
            best.filter(|_| cards.iter().all_unique())
        });
        let ranks = ranks.collect_vec();
        let order = ranks.iter().flatten().sorted().dedup().collect_vec();
        ranks.iter().map(|rank| order.binary_search(&rank.as_ref()?).ok()).collect()
    }

    /// Returns the counts of ranks, and the ranks, both from above.
    fn rank(&self, proof: &Proof, cards: &[usize]) -> (String, Vec<usize>) {
        let special = &proof.parameters["special"];
        let ranks = cards.iter().map(|card| card / 4 + 1).dedup_with_count();
        let (counts, mut ranks): (Vec<usize>, Vec<usize>) = ranks.sorted().rev().unzip();
        let size = cards.len();
        let ace = ranks[0] == self.names.len() / 4;
        if ace && !special.is_empty() && ranks[1..].iter().copied().eq((1..size).rev()) {
            ranks = (0..size).rev().collect();
        }
        let straight = ranks.len() == size && ranks[0] - ranks[size - 1] == size - 1;
        let flush = cards.iter().map(|card| card % 4).all_equal();
        let special = special.get((straight as usize + 2 * flush as usize).wrapping_sub(1));
        (special.map_or_else(|| counts.iter().join(""), |counts| counts.to_string()), ranks)
    }
}

fn shown(number: &BigRational) -> String {
    let text = number.to_string();
    if text.len() < 40 {
        return format!("exactly {text}");
    }
    let units = (number * BigInt::from(10).pow(20)).floor();
    format!("from {units}e-20 to {}e-20", &units + BigInt::one())
}

/// Returns the claims with their proven numbers.
fn check() -> Result<String> {
    let text = std::fs::read_to_string(std::env::args().nth(1).context("name a file")?)?;
    let (title, rest) = text.split_once('\n').context("there is one line")?;
    ensure!(title == format!("tensorcfr certificate 3 {:x}", Sha256::digest(rest)), "the title is wrong");
    ensure!(rest.ends_with('\n'), "the last line does not end");
    let (head, rest) = rest.split_once("\n\n").context("there is one part")?;
    let (claims, lines) = rest.split_once("\n\n").context("there are two parts")?;
    let [mut head, mut claims, lines] = [head, claims, lines].map(|part| part.split('\n'));
    let name = named(&mut head, "game")?;
    let (name, keys, fixed) = GAMES.into_iter().find(|game| name == [game.0]).context("the rules are unknown")?;
    let mut parameters = HashMap::new();
    for values in DEFAULT.split(';').chain(fixed.split(';')) {
        let mut values = values.split(' ');
        parameters.insert(values.next().unwrap(), values.collect());
    }
    for key in keys.split(' ') {
        let (key, form) = key.split_once(':').unwrap_or((key, "1"));
        let values = named(&mut head, key)?;
        let right = form == "*" || form == values.len().to_string() || form.split('|').any(|word| values == [word]);
        ensure!(right, "{key} cannot have the values {values:?}");
        parameters.insert(key, values);
    }
    let totals = weights(&named(&mut head, "totals")?)?;
    let (players, unit): (usize, BigRational) = (number(parameters["players"][0])?, number(parameters["unit"][0])?);
    let right =
        players > 0 && totals.len() == players + 1 && totals.iter().all(BigInt::is_positive) && head.next().is_none();
    for name in ["ranks", "cards", "faces", "bid_faces"].into_iter().filter(|name| keys.contains(name)) {
        ensure!(number::<usize>(parameters[name][0])? <= 10_000, "{name} is above 10,000");
    }
    ensure!(right && unit.is_positive(), "the totals or the unit are wrong, or there are other parameters");
    let chance = totals[players].clone();
    let (deals, weights, sums, path, values) = (vec![], vec![], vec![], vec![], vec![]);
    let mut proof = Proof { parameters, lines, totals, deals, weights, sums, path, infosets: HashMap::new(), values };
    let one_hand = vec![vec![BigInt::one()]; players];
    match name {
        "tree" => {
            proof.start(one_hand, chance.clone())?;
            tree(&mut proof, &chance)?
        }
        "goofspiel" => {
            let (cards, random) = (proof.whole("cards")?, proof.parameters["prizes"] == ["random"]);
            let right = cards > 0 && (1..=cards).filter(|_| random).product::<BigInt>() == chance;
            ensure!(right, "there are no cards, or the total of chance is wrong");
            proof.start(one_hand, chance)?;
            goofspiel(&mut proof, &[])?
        }
        "liars_dice" => {
            let (faces, dice) = (proof.whole("faces")?, numbers::<u32>(&proof.parameters["dice"])?);
            let few = |dice: &u32| faces.checked_pow(*dice).is_some_and(|rolls| rolls <= 10_000_000);
            ensure!(dice.iter().all(few), "a player has more than 10^7 rolls");
            let rolls = dice.iter().map(|&dice| vec![BigInt::one(); faces.pow(dice)]).collect();
            proof.start(rolls, BigInt::from(faces).pow(dice.iter().sum()))?;
            liars_dice(&mut proof, &[])?
        }
        _ => poker(&mut proof)?,
    };
    ensure!(proof.lines.next() == Some("") && proof.lines.next().is_none(), "there are lines after the last decision");
    let rest = proof.infosets.iter().map(|(label, infoset)| (infoset.1, label.clone())).sorted();
    rest.rev().for_each(|(_, label)| proof.respond(&label));
    let scale: BigInt = proof.totals.iter().product();
    let mut proven = vec![("exploitability".to_string(), BigRational::zero())];
    for player in 0..players {
        let best = izip!(&proof.sums[player], &proof.deals[player]).map(|(sum, deal)| sum * deal);
        let best = best.sum::<BigInt>() * &proof.totals[player];
        let [value, best] = [&proof.values[player], &best].map(|sum| &unit * sum / &scale);
        proven[0].1 += (&best - &value) / BigInt::from(players);
        proven.extend([(format!("value {player}"), value), (format!("best response {player}"), best)]);
    }
    for (name, number) in &proven {
        let ends: Vec<BigRational> = numbers(&named(&mut claims, name)?)?;
        ensure!(ends.len() == 2 && ends[0] <= *number && *number <= ends[1], "{name} is {}", shown(number));
    }
    ensure!(claims.next().is_none(), "there are too many claims");
    Ok(proven.iter().map(|(name, number)| format!("{name}: {}\n", shown(number))).collect())
}

fn main() {
    // A traversal is as deep as the game.
    let check = std::thread::Builder::new().stack_size(1 << 32).spawn(check).unwrap();
    match check.join().unwrap_or_else(|_| std::process::exit(101)) {
        Ok(proven) => print!("{proven}"),
        Err(reason) => {
            eprintln!("refused: {reason}");
            std::process::exit(1);
        }
    }
}
