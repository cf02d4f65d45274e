//! Proves the claims of a certificate, or refuses the file. docs/certificates.md has the rules.

use anyhow::{bail, ensure, Context, Result};
use itertools::{izip, Itertools};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sha2::{Digest, Sha256};
use std::{cell::RefCell, collections::HashMap, str::FromStr, str::Split};

/// The rules; their parameters with the number of values, if it is not 1, or all values; and those that are fixed.
const GAMES: [(&str, &str, &str); 9] = [
    ("kuhn", "ranks", "suits 1;ante 1;come 0;bets 1;caps 1"),
    ("leduc", "ranks suits bets:2 caps:2", "ante 1;come 1"),
    ("nl_leduc", "ranks suits ante stack actions", "come 1;bets any"),
    ("rhode_island", "caps:3 merged:no|yes", "ante 5;come 2;bets 10 20 20;special 23000 22000 40000;ranks 13"),
    ("holdem", HOLDEM, "hand 2;come 5;bets listed;special 31200 31300 50000;ranks 13"),
    ("short_deck", HOLDEM, "hand 2;come 5;bets listed;special 31200 33000 50000;ranks 9"),
    ("liars_dice", "dice:2 faces bid_faces wild", "unit 1"),
    ("goofspiel", GOOFSPIEL, ""),
    ("tree", "players unit", ""),
];
const HOLDEM: &str = "board:* dead:* hands:2 pot stack raises:* unit rates:3 merged:no|yes";
const GOOFSPIEL: &str =
    "cards bids:hidden|seen prizes:ascending|descending|random payoff:win_loss|point_difference|total_points";
const DEFAULT: &str =
    "players 2;suits 4;hand 1;board;dead;hands all all;pot 0;ante 0;stack 18446744073709551615;raises;\
                       special;unit 1/2;rates 1 0 0;merged no";

type Parameters<'a> = HashMap<&'a str, Vec<&'a str>>;

fn number<T: FromStr>(word: &str) -> Result<T> {
    // Rust would read more signs, and underscores. The type says whether there can be a sign or a fraction.
    let digits = word.strip_prefix('-').unwrap_or(word);
    ensure!(digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/'), "{word:?} is not a number");
    word.parse().ok().with_context(|| format!("{word:?} is not a number of this kind"))
}

fn numbers<T: FromStr>(words: &[&str]) -> Result<Vec<T>> {
    words.iter().map(|word| number(word)).collect()
}

fn weights(words: &[&str]) -> Result<Vec<BigInt>> {
    Ok(numbers::<BigUint>(words)?.into_iter().map(BigInt::from).collect())
}

/// Returns a parameter with one value.
fn whole(parameters: &Parameters, name: &str) -> Result<usize> {
    number(parameters[name][0])
}

/// Returns the fields of the next line after its first field, which is known.
fn named<'a>(lines: &mut Split<'a, char>, name: &str) -> Result<Vec<&'a str>> {
    let mut fields = lines.next().context("the file ends early")?.split('\t');
    ensure!(fields.next() == Some(name), "there is another line in place of {name:?}");
    Ok(fields.collect())
}

fn dot(left: &[BigInt], right: &[BigInt]) -> BigInt {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// A traversal. A *sequence* is the own actions of a player up to a node.
struct Proof<'a> {
    lines: Split<'a, char>,
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
    fn start(&mut self, deals: Vec<Vec<BigInt>>) {
        for (player, deals) in deals.iter().enumerate() {
            self.add_sequence(deals.iter().map(|deal| deal * &self.totals[player]).collect());
            self.path.push(player);
            self.values.push(BigInt::zero());
        }
        self.deals = deals;
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
        ensure!(same, "the player's actions at {label:?}, or those before, are others");
        if first == new {
            let mut rest = self.weights[before].clone();
            for field in fields.iter().skip(1).step_by(2) {
                let mut after = vec![BigInt::zero(); rest.len()];
                let dealt = self.deals[player].iter().enumerate().filter(|(_, deal)| !deal.is_zero());
                for pair in dealt.zip_longest(weights(&field.split(' ').collect_vec())?) {
                    let ((hand, deal), weight) =
                        pair.both().context("the number of weights is not that of the hands")?;
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
        if self.deals[player].len() > 1 {
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
            for (map, (hand, sum)) in maps.iter().cartesian_product(sums.iter().enumerate()) {
                self.sums[to][map[hand]] += sum / maps.len();
            }
        }
        self.path = before;
        Ok(())
    }

    /// Ends a history with one of the payoffs for each possible pair of a player's hand and a hand of the others.
    fn end(&mut self, payoffs: &[BigInt], outcome: impl Fn(usize, usize, usize) -> Option<usize>) -> Result<()> {
        let players = self.path.len();
        for (player, &sequence) in self.path.iter().enumerate() {
            // Three players have one hand each, so that the weights of several rivals can be multiplied.
            let rivals = (0..players).filter(|&rival| rival != player).map(|rival| &self.weights[self.path[rival]]);
            let rivals = rivals.collect_vec();
            let others = self.deals[(player + 1) % players].len();
            let weights = (0..others).map(|hand| rivals.iter().map(|weights| &weights[hand]).product::<BigInt>());
            let weights = weights.enumerate().filter(|(_, weight)| !weight.is_zero()).collect_vec();
            for hand in 0..self.deals[player].len() {
                let mut met = vec![BigInt::zero(); payoffs.len()];
                for (other, weight) in &weights {
                    if let Some(index) = outcome(player, hand, *other) {
                        met[index] += weight;
                    }
                }
                let sum = dot(&met, payoffs);
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
            let player = number(player)?;
            let right = player < proof.path.len() && !actions.is_empty() && actions.iter().all_unique();
            ensure!(right, "{fields:?} is no infoset");
            let actions = actions.iter().map(|action| action.to_string()).collect_vec();
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
fn liars_dice(proof: &mut Proof, parameters: &Parameters, past: &[usize]) -> Result<()> {
    let [faces, bid_faces, wild] = ["faces", "bid_faces", "wild"].map(|name| whole(parameters, name));
    let (faces, wild, dice) = (faces?, wild?, numbers::<usize>(&parameters["dice"])?);
    let bids = (1..=dice[0] + dice[1]).cartesian_product(1..=bid_faces?).collect_vec();
    let names = bids.iter().map(|(number, face)| format!("{number}x{face}")).collect_vec();
    let (player, first) = (past.len() % 2, past.last().map_or(0, |last| last + 1));
    let liar = past.last().map(|_| "liar".to_string());
    let actions = names[first..].iter().cloned().chain(liar).collect_vec();
    proof.decide(player, past.iter().map(|&bid| &names[bid]).join(" "), &actions, &|proof, action| {
        if first + action < bids.len() {
            return liars_dice(proof, parameters, &[past, &[first + action]].concat());
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
fn goofspiel(proof: &mut Proof, parameters: &Parameters, past: &[usize]) -> Result<()> {
    let [prizes, first, second] = [0, 1, 2].map(|part| past.iter().copied().skip(part).step_by(3).collect_vec());
    let taken = [&prizes, &first, &second][past.len() % 3];
    let left = (1..=whole(parameters, "cards")?).filter(|card| !taken.contains(card)).collect_vec();
    let next = |proof: &mut Proof, card: &usize| goofspiel(proof, parameters, &[past, &[*card]].concat());
    let sides = [[&first, &second], [&second, &first]];
    match (past.len() % 3, left.len()) {
        (0, 0) => {
            let points = sides.map(|[own, other]| {
                let won = izip!(&prizes, own, other).filter(|(_, own, other)| own > other);
                won.map(|(prize, _, _)| *prize as i64).sum::<i64>()
            });
            let payoffs = [0, 1].map(|player| {
                let (own, difference) = (points[player], points[player] - points[1 - player]);
                BigInt::from(match parameters["payoff"][0] {
                    "win_loss" => 2 * difference.signum(),
                    "point_difference" => difference,
                    _ => 2 * own,
                })
            });
            proof.end(&payoffs, |player, _, _| Some(player))
        }
        (0, _) => match parameters["prizes"][0] {
            "ascending" => next(proof, &left[0]),
            "descending" => next(proof, &left[left.len() - 1]),
            _ => left.iter().try_for_each(|prize| next(proof, prize)),
        },
        (_, 1) => next(proof, &left[0]),
        (turn, _) => {
            let [own, other] = sides[turn - 1];
            let results = own.iter().zip(other).map(|(own, other)| match parameters["bids"][0] {
                "seen" => other.to_string(),
                _ => ["-", "=", "+"][(own.cmp(other) as i8 + 1) as usize].to_string(),
            });
            let label = prizes.iter().chain(own).map(usize::to_string).chain(results).join(" ");
            let actions = left.iter().map(usize::to_string).collect_vec();
            proof.decide(turn - 1, format!("P{} {label}", turn - 1), &actions, &|proof, card| next(proof, &left[card]))
        }
    }
}

struct Poker<'p> {
    parameters: &'p Parameters<'p>,
    /// Of all cards.
    names: Vec<String>,
    suits: usize,
    board: Vec<usize>,
    /// The cards that can come, and their number.
    free: Vec<usize>,
    to_come: usize,
    hands: Vec<Vec<usize>>,
    /// Permutations of all cards and of the hands.
    symmetries: Vec<(Vec<usize>, Vec<usize>)>,
    /// By cards that came.
    strengths: RefCell<HashMap<Vec<usize>, Vec<u128>>>,
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

impl Poker<'_> {
    /// Returns the number of deals and of cards that follow, with their weights.
    fn play(proof: &mut Proof, parameters: &Parameters) -> Result<BigInt> {
        let (ranks, suits, ante) =
            (whole(parameters, "ranks")?, whole(parameters, "suits")?, whole(parameters, "ante")?);
        ensure!(suits <= 4 && whole(parameters, "stack")? >= ante, "there are too many suits, or too few chips");
        let names = (0..ranks).cartesian_product(0..suits).map(|(rank, suit)| match parameters["special"].is_empty() {
            true => format!("{rank}{}", &"shdc"[suit..][..1]),
            false => format!("{}{}", &"23456789TJQKA"[13 - ranks + rank..][..1], &"cdhs"[suit..][..1]),
        });
        let names = names.collect_vec();
        let known = parameters["board"].iter().chain(&parameters["dead"]);
        let known: Option<Vec<usize>> = known.map(|card| names.iter().position(|name| name == card)).collect();
        let known = known.filter(|known| known.iter().all_unique()).context("a card is unknown, or there twice")?;
        let (board, dead) = known.split_at(parameters["board"].len());
        let to_come = whole(parameters, "come")?.checked_sub(board.len()).filter(|&number| number < 3);
        let to_come = to_come.context("the board has another size")?;
        let free = (0..names.len()).filter(|card| !known.contains(card)).collect_vec();
        let mut hands = free.iter().copied().combinations(whole(parameters, "hand")?).collect_vec();
        let mut deals = vec![vec![BigInt::one(); hands.len()]; 2];
        for (deals, field) in deals.iter_mut().zip(&parameters["hands"]).filter(|(_, field)| **field != "all") {
            *deals = weights(&field.split(' ').collect_vec())?;
            ensure!(deals.len() == hands.len(), "there is another number of hands");
        }
        let dealt = (0..hands.len()).map(|hand| deals.iter().any(|deals| !deals[hand].is_zero())).collect_vec();
        retain(&mut hands, &dealt);
        deals.iter_mut().for_each(|deals| retain(deals, &dealt));
        let symmetries = (0..suits).permutations(suits).filter_map(|suit| {
            let cards = (0..names.len()).map(|card| card - card % suits + suit[card % suits]).collect_vec();
            let moved = |hand: &Vec<usize>| hand.iter().map(|&card| cards[card]).sorted().collect_vec();
            let maps: Option<Vec<usize>> = hands.iter().map(|hand| hands.binary_search(&moved(hand)).ok()).collect();
            let maps = maps.filter(|maps| {
                deals.iter().all(|deals| maps.iter().zip(deals).all(|(&to, deal)| deals[to] == *deal))
            })?;
            let place = |card: usize| (board.contains(&card), dead.contains(&card));
            cards.iter().enumerate().all(|(card, &to)| place(card) == place(to)).then_some((cards, maps))
        });
        let symmetries = symmetries.take(if parameters["merged"] == ["yes"] { 24 } else { 1 }).collect_vec();
        let (strengths, board) = (RefCell::default(), board.to_vec());
        let game = Poker { parameters, names, suits, board, free, to_come, hands, symmetries, strengths };
        let weight: BigInt = (0..to_come).map(|came| BigInt::from(game.left(came))).product();
        let pairs =
            (0..game.hands.len()).cartesian_product(0..game.hands.len()).filter(|&(own, other)| game.apart(own, other));
        let pairs: BigInt = pairs.map(|(own, other)| &deals[0][own] * &deals[1][other]).sum();
        proof.start(deals);
        game.bet(proof, &Bets { paid: [ante; 2], weight: weight.clone(), ..Bets::default() })?;
        Ok(pairs * weight)
    }

    fn apart(&self, own: usize, other: usize) -> bool {
        !self.hands[own].iter().any(|card| self.hands[other].contains(card))
    }

    /// The number of cards that can be the next one, if those of two hands are known.
    fn left(&self, came: usize) -> i64 {
        self.free.len() as i64 - 2 * self.hands[0].len() as i64 - came as i64
    }

    fn bet(&self, proof: &mut Proof, bets: &Bets) -> Result<()> {
        if bets.paid == [whole(self.parameters, "stack")?; 2] {
            return self.deal(proof, bets);
        }
        let player = bets.raised.len() % 2;
        let high = bets.paid[1 - player];
        let fold = (bets.paid[player] < high).then_some("fold".to_string());
        let raises = self.raises(bets, high)?;
        let actions = fold.into_iter().chain(["call".into()]).chain(raises.iter().map(usize::to_string)).collect_vec();
        proof.decide(player, bets.label.join(" "), &actions, &|proof, action| {
            let action = &actions[action];
            if action == "fold" {
                return self.end(proof, bets, Some(player));
            }
            let mut next = bets.clone();
            next.paid[player] = action.parse().unwrap_or(high);
            next.raised.push(next.paid[player] - high);
            next.label.push(action.clone());
            if action == "call" && !bets.raised.is_empty() {
                self.deal(proof, &next)
            } else {
                self.bet(proof, &next)
            }
        })
    }

    /// Returns the totals to which a player can raise.
    fn raises(&self, bets: &Bets, high: usize) -> Result<Vec<usize>> {
        let (round, stack) = (bets.cards.len(), whole(self.parameters, "stack")?);
        let least = high + bets.raised.last().map_or(1, |&raise| raise.max(1));
        let legal = if high < stack { least.min(stack)..=stack } else { 1..=0 };
        let totals = match self.parameters["bets"][..] {
            ["listed"] => {
                let line = bets.label.iter().filter(|word| !self.names.contains(word)).join(" ");
                let listed = self.parameters["raises"].iter().filter_map(|field| field.rsplit_once(':'));
                let listed = listed.filter(|listed| listed.0 == line).map(|listed| listed.1.split(' ').collect_vec());
                numbers(&listed.at_most_one().ok().context("a line is listed twice")?.unwrap_or_default())?
            }
            ["any"] if bets.raised.len() + 1 < whole(self.parameters, "actions")? => legal.clone().collect(),
            ["any"] => vec![],
            ref sizes => {
                let raised = bets.raised.iter().filter(|&&raise| raise > 0).count();
                let more = raised < number(self.parameters["caps"][round])?;
                vec![high + number::<usize>(sizes[round])?; more as usize]
            }
        };
        let rising = totals.iter().tuple_windows().all(|(low, high)| low < high);
        ensure!(rising && totals.iter().all(|total| legal.contains(total)), "{totals:?} after {:?}", bets.label);
        Ok(totals)
    }

    fn deal(&self, proof: &mut Proof, bets: &Bets) -> Result<()> {
        if bets.cards.len() == self.to_come {
            return self.end(proof, bets, None);
        }
        let symmetries = self.symmetries.iter().filter(|(cards, _)| bets.cards.iter().all(|&card| cards[card] == card));
        let symmetries = symmetries.collect_vec();
        for (&sequence, (_, hands)) in proof.path.iter().cartesian_product(symmetries.iter().copied()) {
            let weights = &proof.weights[sequence];
            let same = hands.iter().zip(weights).all(|(&to, weight)| weights[to] == *weight);
            ensure!(same, "the weights before a card change with the suits");
        }
        for &card in self.free.iter().filter(|card| !bets.cards.contains(card)) {
            let images = symmetries.iter().unique_by(|(cards, _)| cards[card]).collect_vec();
            if images.iter().all(|(cards, _)| cards[card] >= card) {
                let mut next = Bets { raised: vec![], ..bets.clone() };
                next.weight = next.weight * images.len() / self.left(bets.cards.len());
                next.cards.push(card);
                next.label.push(self.names[card].clone());
                let maps = images.iter().map(|(_, hands)| hands).collect_vec();
                proof.repeat(&maps, |proof| self.bet(proof, &next))?;
            }
        }
        Ok(())
    }

    fn end(&self, proof: &mut Proof, bets: &Bets, loser: Option<usize>) -> Result<()> {
        let mut strengths = self.strengths.borrow_mut();
        let strengths = strengths.entry(bets.cards.clone());
        let strengths =
            strengths.or_insert_with(|| self.hands.iter().map(|hand| self.strength(&bets.cards, hand)).collect());
        let pot = whole(self.parameters, "pot")? + 2 * bets.paid.iter().min().unwrap();
        let rates = weights(&self.parameters["rates"])?;
        let (price, rake) = (&rates[0] * pot, (&rates[1] * pot).min(rates[2].clone()));
        let payoffs = [&price - &rake * 2, -rake, -price].map(|payoff| payoff * &bets.weight);
        proof.end(&payoffs, |player, own, other| {
            let possible = strengths[own] > 0 && strengths[other] > 0 && self.apart(own, other);
            possible.then(|| match loser {
                Some(loser) => 2 * (loser == player) as usize,
                None => (strengths[other].cmp(&strengths[own]) as i8 + 1) as usize,
            })
        })
    }

    /// Returns 0 for a hand that is impossible, and at the end more for a better hand.
    fn strength(&self, came: &[usize], hand: &[usize]) -> u128 {
        if hand.iter().any(|card| came.contains(card)) {
            return 0;
        }
        if came.len() < self.to_come {
            return 1;
        }
        let cards = [&self.board, came, hand].concat().into_iter().sorted().collect_vec();
        let size = cards.len().min(5);
        cards.into_iter().combinations(size).map(|cards| self.rank(&cards)).max().unwrap()
    }

    fn rank(&self, cards: &[usize]) -> u128 {
        let (size, base) = (cards.len(), self.names.len() as u128 + 2);
        let ranks = cards.iter().map(|card| card / self.suits + 1).dedup_with_count();
        let (counts, mut ranks): (Vec<usize>, Vec<usize>) = ranks.sorted().rev().unzip();
        // Digits of a number: zeros make shorter lists smaller.
        let digits = |list: Vec<usize>, base: u128| {
            list.into_iter().pad_using(5, |_| 0).fold(0, |number, digit| number * base + digit as u128)
        };
        let mut counts = digits(counts, 10);
        if let [straight, flush, both] = self.parameters["special"][..] {
            if ranks[0] == self.names.len() / self.suits && ranks[1..].iter().copied().eq((1..size).rev()) {
                ranks = (0..size).rev().collect();
            }
            let is_straight = ranks.len() == size && ranks[0] - ranks[size - 1] == size - 1;
            let is_flush = cards.iter().map(|card| card % self.suits).all_equal();
            let special = [None, Some(straight), Some(flush), Some(both)][is_straight as usize + 2 * is_flush as usize];
            counts = special.map_or(counts, |special| special.parse().unwrap());
        }
        counts * base.pow(5) + digits(ranks, base)
    }
}

/// Keeps the marked items of a list.
fn retain<T>(list: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| *marks.next().unwrap());
}

fn shown(number: &BigRational) -> String {
    let text = number.to_string();
    if text.len() < 40 {
        return format!("exactly {text}");
    }
    let units = number * BigInt::from(10).pow(20);
    format!("from {}e-20 to {}e-20", units.floor(), units.ceil())
}

fn main() -> Result<()> {
    let text = std::fs::read_to_string(std::env::args().nth(1).context("name a file")?)?;
    let (title, rest) = text.split_once('\n').context("there is one line")?;
    ensure!(title == format!("tensorcfr certificate 3 {:x}", Sha256::digest(rest)), "the title is wrong");
    ensure!(rest.ends_with('\n'), "the last line does not end");
    let [head, claims, decisions] = rest.splitn(3, "\n\n").collect_vec()[..] else {
        bail!("there are not three parts")
    };
    let (mut head, mut claims, lines) = (head.split('\n'), claims.split('\n'), decisions.split('\n'));
    let name = named(&mut head, "game")?;
    let (name, keys, fixed) = GAMES.into_iter().find(|game| name == [game.0]).context("unknown rules")?;
    let mut parameters = Parameters::new();
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
    let right = totals.len() == players + 1 && totals.iter().all(BigInt::is_positive) && head.next().is_none();
    ensure!(right && unit.is_positive(), "the totals or the unit are wrong, or there are other parameters");
    let (weights, sums, path, values, infosets) = (vec![], vec![], vec![], vec![], HashMap::new());
    let mut proof = Proof { lines, totals, deals: vec![], weights, sums, path, infosets, values };
    let chance = proof.totals[players].clone();
    let scale = match name {
        "tree" => {
            proof.start(vec![vec![BigInt::one()]; players]);
            tree(&mut proof, &chance)?;
            chance
        }
        "liars_dice" => {
            let (dice, faces) = (numbers::<u32>(&parameters["dice"])?, whole(&parameters, "faces")?);
            proof.start(dice.iter().map(|&dice| vec![BigInt::one(); faces.pow(dice)]).collect());
            liars_dice(&mut proof, &parameters, &[])?;
            BigInt::from(faces).pow(dice[0] + dice[1])
        }
        "goofspiel" => {
            let random = parameters["prizes"] == ["random"];
            let orders: BigInt = (1..=whole(&parameters, "cards")?).filter(|_| random).product();
            ensure!(orders == chance, "the total of chance is not {orders}");
            proof.start(vec![vec![BigInt::one()]; 2]);
            goofspiel(&mut proof, &parameters, &[])?;
            chance
        }
        _ => Poker::play(&mut proof, &parameters)?,
    };
    ensure!(scale.is_positive(), "nothing can be dealt");
    ensure!(proof.lines.next() == Some("") && proof.lines.next().is_none(), "there are lines after the last decision");
    let rest = proof.infosets.iter().map(|(label, infoset)| (infoset.1, label.clone())).sorted();
    rest.rev().for_each(|(_, label)| proof.respond(&label));
    let unit = unit / (scale * proof.totals[..players].iter().product::<BigInt>());
    let mut proven = vec![("exploitability".to_string(), BigRational::zero())];
    for player in 0..players {
        let best = dot(&proof.sums[player], &proof.deals[player]) * &proof.totals[player];
        let [value, best] = [&proof.values[player], &best].map(|sum| &unit * sum);
        proven[0].1 += (&best - &value) / BigInt::from(players);
        proven.extend([(format!("value {player}"), value), (format!("best response {player}"), best)]);
    }
    for (name, number) in &proven {
        let ends: Vec<BigRational> = numbers(&named(&mut claims, name)?)?;
        ensure!(ends.len() == 2 && ends[0] <= *number && *number <= ends[1], "{name} is {}", shown(number));
    }
    ensure!(claims.next().is_none(), "there are too many claims");
    proven.iter().for_each(|(name, number)| println!("{name}: {}", shown(number)));
    Ok(())
}
