//! Proves the claims of a certificate, or refuses the file. docs/certificates.md has the rules.

use anyhow::{bail, ensure, Context, Result};
use itertools::{izip, Itertools};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sha2::{Digest, Sha256};
use std::{cell::RefCell, collections::HashMap, iter::once, rc::Rc, str::FromStr, str::Split};

/// The rules with their parameters (name:number of values), and fixed parameters of the games of cards.
const GAMES: [(&str, &str, &str); 9] = [
    ("kuhn", "ranks", "suits 1;ante 1;cards 0;bets 1;caps 1"),
    ("leduc", "ranks suits bets:2 caps:2", "ante 1;cards 1"),
    ("nl_leduc", "ranks suits ante stack actions", "cards 1;bets any"),
    ("rhode_island", "caps:3 merged", "ante 5;cards 2;bets 10 20 20;ranks 13;special 23000 22000 40000"),
    ("holdem", HOLDEM, "hand 2;cards 5;bets listed;ranks 13;special 31200 31300 50000"),
    ("short_deck", HOLDEM, "hand 2;cards 5;bets listed;ranks 9;special 31200 33000 50000"),
    ("liars_dice", "dice:2 faces bid_faces wild", "unit 1"),
    ("goofspiel", "cards bids prizes payoff", ""),
    ("tree", "players unit", "players"),
];
const HOLDEM: &str = "board:* dead:* hands:2 pot stack raises:* unit rates:3 merged";
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

fn choice(parameters: &Parameters, name: &str, words: &[&str]) -> Result<usize> {
    words.iter().position(|word| parameters[name] == [*word]).with_context(|| format!("{name} is none of {words:?}"))
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
        ensure!(same == before, "the histories of {label:?} have other actions of the player");
        let same = fields.iter().step_by(2).eq(actions) && fields.len() == 2 * actions.len();
        ensure!(same, "the actions of {label:?} are {actions:?}");
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

fn tree(proof: &mut Proof, parameters: &Parameters) -> Result<BigInt> {
    fn visit(proof: &mut Proof, players: usize, chance: &BigInt) -> Result<()> {
        let fields = proof.lines.next().context("the tree ends early")?.split('\t').collect_vec();
        match fields[..] {
            ["infoset", player, label, ref actions @ ..] => {
                let player = number(player)?;
                ensure!(player < players && !actions.is_empty() && actions.iter().all_unique(), "{fields:?} is wrong");
                let actions = actions.iter().map(|action| action.to_string()).collect_vec();
                proof.decide(player, label.to_string(), &actions, &|proof, _| visit(proof, players, chance))
            }
            ["chance", ref outcomes @ ..] => {
                let outcomes = weights(outcomes)?;
                ensure!(outcomes.iter().sum::<BigInt>() == *chance, "{fields:?} do not sum to {chance}");
                outcomes.iter().try_for_each(|outcome| visit(proof, players, outcome))
            }
            ["end", ref payoffs @ ..] if payoffs.len() == players => {
                let payoffs = numbers::<BigInt>(payoffs)?.iter().map(|payoff| payoff * chance).collect_vec();
                proof.end(&payoffs, |player, _, _| Some(player))
            }
            _ => bail!("{fields:?} is no node"),
        }
    }
    let players: usize = number(parameters["players"][0])?;
    let chance = proof.totals[players].clone();
    proof.start(vec![vec![BigInt::one()]; players]);
    visit(proof, players, &chance)?;
    Ok(chance)
}

struct LiarsDice {
    rolls: [Vec<Vec<usize>>; 2],
    bids: Vec<(usize, usize)>,
    wild: usize,
}

impl LiarsDice {
    fn play(parameters: &Parameters, proof: &mut Proof) -> Result<BigInt> {
        let [faces, bid_faces, wild] = ["faces", "bid_faces", "wild"].map(|name| number(parameters[name][0]));
        let (dice, faces) = (numbers::<usize>(&parameters["dice"])?, faces?);
        let rolls =
            [0, 1].map(|player| vec![1..=faces; dice[player]].into_iter().multi_cartesian_product().collect_vec());
        let bids = (1..=dice[0] + dice[1]).cartesian_product(1..=bid_faces?).collect();
        proof.start(rolls.iter().map(|rolls| vec![BigInt::one(); rolls.len()]).collect());
        let pairs = rolls[0].len() * rolls[1].len();
        LiarsDice { rolls, bids, wild: wild? }.bid(proof, &[])?;
        Ok(pairs.into())
    }

    fn bid(&self, proof: &mut Proof, past: &[usize]) -> Result<()> {
        let (player, first) = (past.len() % 2, past.last().map_or(0, |last| last + 1));
        let names = self.bids.iter().map(|(number, face)| format!("{number}x{face}")).collect_vec();
        let liar = past.last().map(|_| "liar".to_string());
        let actions = names[first..].iter().cloned().chain(liar).collect_vec();
        proof.decide(player, past.iter().map(|&bid| &names[bid]).join(" "), &actions, &|proof, action| {
            if first + action < self.bids.len() {
                return self.bid(proof, &[past, &[first + action]].concat());
            }
            let (number, face) = self.bids[first - 1];
            proof.end(&[1.into(), (-1).into()], |own, hand, other| {
                let dice = self.rolls[own][hand].iter().chain(&self.rolls[1 - own][other]);
                let truth = dice.filter(|&&die| die == face || die == self.wild).count() >= number;
                Some((truth == (own == player)) as usize)
            })
        })
    }
}

struct Goofspiel {
    cards: usize,
    seen: bool,
    order: usize,
    payoff: usize,
}

impl Goofspiel {
    fn play(parameters: &Parameters, proof: &mut Proof) -> Result<BigInt> {
        let cards = number(parameters["cards"][0])?;
        let seen = choice(parameters, "bids", &["hidden", "seen"])? == 1;
        let order = choice(parameters, "prizes", &["ascending", "descending", "random"])?;
        let payoff = choice(parameters, "payoff", &["win_loss", "point_difference", "total_points"])?;
        let chance: BigInt = (1..=cards).filter(|_| order == 2).product();
        ensure!(proof.totals[2] == chance, "the total of chance is not {chance}");
        proof.start(vec![vec![BigInt::one()]; 2]);
        Goofspiel { cards, seen, order, payoff }.turn(proof, &[])?;
        Ok(chance)
    }

    /// The past has the prize, the bid of player 0 and that of player 1 of each round.
    fn turn(&self, proof: &mut Proof, past: &[usize]) -> Result<()> {
        let [prizes, first, second] = [0, 1, 2].map(|part| past.iter().skip(part).step_by(3).copied().collect_vec());
        let taken = [&prizes, &first, &second][past.len() % 3];
        let left = (1..=self.cards).filter(|card| !taken.contains(card)).collect_vec();
        let next = |proof: &mut Proof, card: usize| self.turn(proof, &[past, &[card]].concat());
        if past.len() == 3 * self.cards {
            let points = [[&first, &second], [&second, &first]].map(|[own, other]| {
                let won = izip!(&prizes, own, other).filter(|(_, own, other)| own > other);
                won.map(|(prize, _, _)| *prize as i64).sum::<i64>()
            });
            let payoffs = [points, [points[1], points[0]]]
                .map(|[own, other]| BigInt::from([2 * (own - other).signum(), own - other, 2 * own][self.payoff]));
            return proof.end(&payoffs, |player, _, _| Some(player));
        }
        if past.len() % 3 == 0 {
            let options = [&left[..1], &left[left.len() - 1..], &left][self.order];
            return options.iter().try_for_each(|&prize| next(proof, prize));
        }
        if left.len() == 1 {
            return next(proof, left[0]);
        }
        let player = past.len() % 3 - 1;
        let [own, other] = if player == 0 { [&first, &second] } else { [&second, &first] };
        let results = own.iter().zip(other).map(|(own, other)| match self.seen {
            true => other.to_string(),
            false => ["-", "=", "+"][(own.cmp(other) as i8 + 1) as usize].to_string(),
        });
        let label = prizes.iter().chain(own).map(usize::to_string).chain(results).join(" ");
        let actions = left.iter().map(usize::to_string).collect_vec();
        proof.decide(player, format!("P{player} {label}"), &actions, &|proof, action| next(proof, left[action]))
    }
}

struct Poker<'p> {
    parameters: &'p Parameters<'p>,
    /// The deck.
    names: Vec<String>,
    suits: usize,
    board: Vec<usize>,
    /// The cards that can come, and their number.
    free: Vec<usize>,
    to_come: usize,
    hands: Vec<Vec<usize>>,
    stack: usize,
    raises: HashMap<String, Vec<usize>>,
    /// Permutations of the cards and of the hands.
    symmetries: Vec<(Vec<usize>, Vec<usize>)>,
    /// By cards that came.
    strengths: RefCell<HashMap<Vec<usize>, Rc<Vec<u128>>>>,
}

#[derive(Clone, Default)]
struct Bets {
    paid: [usize; 2],
    /// Chips above the total of the opponent, for each action of the round.
    raised: Vec<usize>,
    label: Vec<String>,
    /// The label without cards.
    line: Vec<String>,
    cards: Vec<usize>,
    /// Nodes for which this one stands.
    alike: usize,
}

impl Poker<'_> {
    fn play(parameters: &Parameters, proof: &mut Proof) -> Result<BigInt> {
        let [ranks, suits, ante, stack, size, cards] =
            ["ranks", "suits", "ante", "stack", "hand", "cards"].map(|name| number::<usize>(parameters[name][0]));
        let (ranks, suits, ante, stack, size) = (ranks?, suits?, ante?, stack?, size?);
        ensure!(suits <= 4 && stack >= ante, "there are too many suits, or too few chips");
        let names = (0..ranks).cartesian_product(0..suits).map(|(rank, suit)| match parameters["special"].is_empty() {
            true => format!("{rank}{}", &"shdc"[suit..][..1]),
            false => format!("{}{}", &"23456789TJQKA"[13 - ranks + rank..][..1], &"cdhs"[suit..][..1]),
        });
        let names = names.collect_vec();
        let known = parameters["board"].iter().chain(&parameters["dead"]);
        let known: Option<Vec<usize>> = known.map(|card| names.iter().position(|name| name == card)).collect();
        let known = known.filter(|known| known.iter().all_unique()).context("a card is unknown, or there twice")?;
        let (board, dead) = known.split_at(parameters["board"].len());
        let to_come =
            cards?.checked_sub(board.len()).filter(|&number| number < 3).context("the board has another size")?;
        let free = (0..names.len()).filter(|card| !known.contains(card)).collect_vec();
        let hands = free.iter().copied().combinations(size).collect_vec();
        let mut deals = vec![vec![BigInt::one(); hands.len()]; 2];
        for (deals, field) in deals.iter_mut().zip(&parameters["hands"]).filter(|(_, field)| **field != "all") {
            *deals = weights(&field.split(' ').collect_vec())?;
            ensure!(deals.len() == hands.len(), "there is another number of hands");
        }
        let mut raises = HashMap::new();
        for field in &parameters["raises"] {
            let (line, totals) = field.rsplit_once(':').context("raises need a line")?;
            let totals: Vec<usize> = numbers(&totals.split(' ').collect_vec())?;
            ensure!(totals.iter().tuple_windows().all(|(low, high)| low < high), "raises are in another order");
            ensure!(raises.insert(line.to_string(), totals).is_none(), "the line {line:?} is there twice");
        }
        let merged = choice(parameters, "merged", &["no", "yes"])?;
        let symmetries = (0..suits).permutations(suits).take([1, 24][merged]).map(|suit| {
            let cards = (0..names.len()).map(|card| card - card % suits + suit[card % suits]).collect_vec();
            let moved = |hand: &Vec<usize>| hand.iter().map(|&card| cards[card]).sorted().collect_vec();
            let maps = hands.iter().map(|hand| hands.binary_search(&moved(hand)).unwrap_or(0)).collect_vec();
            (cards, maps)
        });
        let place = |card: usize| (board.contains(&card), dead.contains(&card));
        let symmetries = symmetries.filter(|(cards, maps)| {
            cards.iter().enumerate().all(|(card, &to)| place(card) == place(to))
                && deals.iter().all(|deals| maps.iter().zip(deals).all(|(&to, deal)| deals[to] == *deal))
        });
        let symmetries = symmetries.collect_vec();
        let pairs = hands.iter().enumerate().cartesian_product(hands.iter().enumerate());
        let pairs = pairs.filter(|((_, own), (_, other))| !own.iter().any(|card| other.contains(card)));
        let pairs: BigInt = pairs.map(|((own, _), (other, _))| &deals[0][own] * &deals[1][other]).sum();
        proof.start(deals);
        let (strengths, board) = (RefCell::default(), board.to_vec());
        let game =
            Poker { parameters, names, suits, board, free, to_come, hands, stack, raises, symmetries, strengths };
        game.bet(proof, &Bets { paid: [ante; 2], alike: 1, ..Bets::default() })?;
        Ok(pairs * game.chance(0))
    }

    /// The number of ways in which the cards after some can come. Four or two cards are in the hands.
    fn chance(&self, came: usize) -> BigInt {
        let left = self.free.len() - 2 * self.hands[0].len();
        (came..self.to_come).map(|card| BigInt::from(left) - card).product()
    }

    fn bet(&self, proof: &mut Proof, bets: &Bets) -> Result<()> {
        if bets.paid == [self.stack; 2] {
            return self.deal(proof, bets);
        }
        let player = bets.raised.len() % 2;
        let high = bets.paid[1 - player];
        let fold = (bets.paid[player] < high).then_some("fold".to_string());
        let raises = self.raises(bets, high)?;
        let actions =
            fold.into_iter().chain(once("call".into())).chain(raises.iter().map(usize::to_string)).collect_vec();
        proof.decide(player, bets.label.join(" "), &actions, &|proof, action| {
            let action = &actions[action];
            if action == "fold" {
                return self.end(proof, bets, Some(player));
            }
            let mut next = bets.clone();
            next.paid[player] = action.parse().unwrap_or(high);
            next.raised.push(next.paid[player] - high);
            next.label.push(action.clone());
            next.line.push(action.clone());
            if action == "call" && !bets.raised.is_empty() {
                return self.deal(proof, &next);
            }
            self.bet(proof, &next)
        })
    }

    /// Returns the totals to which a player can raise.
    fn raises(&self, bets: &Bets, high: usize) -> Result<Vec<usize>> {
        let least = high + bets.raised.last().map_or(1, |&raise| raise.max(1));
        let legal = if high < self.stack { least.min(self.stack)..=self.stack } else { 1..=0 };
        let raised = bets.raised.iter().filter(|&&raise| raise > 0).count();
        let totals = match self.parameters["bets"][..] {
            ["listed"] => self.raises.get(&bets.line.join(" ")).cloned().unwrap_or_default(),
            ["any"] if bets.raised.len() + 1 >= number(self.parameters["actions"][0])? => vec![],
            ["any"] => legal.clone().collect(),
            ref sizes if raised < number(self.parameters["caps"][bets.cards.len()])? => {
                vec![high + number::<usize>(sizes[bets.cards.len()])?]
            }
            _ => vec![],
        };
        ensure!(totals.iter().all(|total| legal.contains(total)), "a raise after {:?} is not legal", bets.label);
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
                let mut next = Bets { raised: vec![], alike: bets.alike * images.len(), ..bets.clone() };
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
        let strengths = strengths.entry(bets.cards.clone()).or_insert_with(|| {
            let dealt = |hand: usize| proof.deals.iter().any(|deals| !deals[hand].is_zero());
            let strength = |hand: usize| if dealt(hand) { self.strength(&bets.cards, &self.hands[hand]) } else { 0 };
            Rc::new((0..self.hands.len()).map(strength).collect())
        });
        let pot = weights(&self.parameters["pot"])?.remove(0) + 2 * bets.paid.iter().min().unwrap();
        let [price, rake, cap] = <[BigInt; 3]>::try_from(weights(&self.parameters["rates"])?).unwrap();
        let (price, rake) = (price * &pot, cap.min(rake * &pot));
        let weight = self.chance(bets.cards.len()) * bets.alike;
        let payoffs = [&price - 2 * &rake, -rake, -price].map(|payoff| payoff * &weight);
        proof.end(&payoffs, |player, own, other| {
            let mut cards = self.hands[own].iter();
            let possible =
                strengths[own] > 0 && strengths[other] > 0 && !cards.any(|card| self.hands[other].contains(card));
            possible.then(|| match loser {
                Some(loser) if loser == player => 2,
                Some(_) => 0,
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
        let ranks = cards.iter().map(|card| card / self.suits + 1).dedup_with_count();
        let (counts, mut ranks): (Vec<usize>, Vec<usize>) = ranks.sorted().rev().unzip();
        // Digits of a number: zeros make shorter lists smaller.
        let digits = |list: Vec<usize>, base: usize| {
            list.into_iter().pad_using(5, |_| 0).fold(0, |number, digit| number * base as u128 + digit as u128)
        };
        let mut counts = digits(counts, 10);
        if let [straight, flush, both] = self.parameters["special"][..] {
            let size = cards.len();
            if ranks[0] == self.names.len() / self.suits && ranks[1..].iter().copied().eq((1..size).rev()) {
                ranks = (0..size).rev().collect();
            }
            let special = [
                (ranks.len() == size && ranks[0] - ranks[size - 1] == size - 1, straight),
                (cards.iter().map(|card| card % self.suits).all_equal(), flush),
            ];
            counts = match special {
                [(true, _), (true, _)] => both.parse().unwrap(),
                _ => special.iter().find(|(is, _)| *is).map_or(counts, |(_, special)| special.parse().unwrap()),
            };
        }
        let base = self.names.len() + 2;
        counts * (base as u128).pow(5) + digits(ranks, base)
    }
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
        let (key, count) = key.split_once(':').unwrap_or((key, "1"));
        let values = named(&mut head, key)?;
        ensure!(count == "*" || values.len().to_string() == count, "{key} has another number of values");
        parameters.insert(key, values);
    }
    let totals = weights(&named(&mut head, "totals")?)?;
    let (players, unit): (usize, BigRational) = (number(parameters["players"][0])?, number(parameters["unit"][0])?);
    let right = totals.len() == players + 1 && totals.iter().all(BigInt::is_positive) && head.next().is_none();
    ensure!(right && unit.is_positive(), "the totals or the unit are wrong, or there are other parameters");
    let (weights, sums, path, values, infosets) = (vec![], vec![], vec![], vec![], HashMap::new());
    let mut proof = Proof { lines, totals, deals: vec![], weights, sums, path, infosets, values };
    let scale = match name {
        "tree" => tree(&mut proof, &parameters),
        "liars_dice" => LiarsDice::play(&parameters, &mut proof),
        "goofspiel" => Goofspiel::play(&parameters, &mut proof),
        _ => Poker::play(&parameters, &mut proof),
    }?;
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
