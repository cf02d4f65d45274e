//! Proves the claims of a certificate, or refuses the file.  Written from docs/certificates.md, without another program.
//!
//! Rules give the nodes of a game that all players see, and a decision has weights for each hand of its player.  One
//! traversal sums the payoffs of all games.  All sums are exact.

use anyhow::{bail, ensure, Context, Result};
use itertools::Itertools;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, mem::take, rc::Rc, str::FromStr};

/// Names of games, and their parameters.  Those without a value are in the file.
const GAMES: [(&str, &str); 9] = [
    ("kuhn", "ranks suits=1 cards=0 bets=1 caps=1"),
    ("leduc", "ranks suits bets caps"),
    ("nl_leduc", "ranks suits ante stack actions"),
    ("rhode_island", "caps merged ranks=13 suits=4 cards=2 ante=5 bets=10,20,20 counts=23,22,4"),
    ("holdem", "board dead hands pot stack raises unit rates merged ranks=13 counts=312,313,5"),
    ("short_deck", "board dead hands pot stack raises unit rates merged ranks=9 counts=312,33,5"),
    ("liars_dice", "dice faces bid_faces wild"),
    ("goofspiel", "cards bids prizes payoff"),
    ("tree", "players unit"),
];
/// Parameters of card games that the table leaves out: in hold'em, and in the others.
const HOLDEM: &str = "suits=4 size=2 cards=5 ante=0 bets= caps= actions=0";
const SMALL: &str = "size=1 cards=1 ante=1 pot=0 stack=1000000000 unit=1/2 rates=1,0,0 merged=no board= dead= \
                     hands=all,all bets= caps= counts= actions=0 raises=";

fn whole<N: FromStr>(text: &str) -> Result<N> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).with_context(|| format!("{text:?} is not a whole number"))
}

/// Read a whole number or a fraction, without a sign.
fn number(text: &str) -> Result<BigRational> {
    let (above, below): (BigInt, BigInt) = text.split_once('/').map_or_else(
        || Ok::<_, anyhow::Error>((whole(text)?, BigInt::one())),
        |(above, below)| Ok((whole(above)?, whole(below)?)),
    )?;
    ensure!(!below.is_zero(), "{text:?} is not a number");
    Ok(BigRational::new(above, below))
}

/// Read a whole number or a fraction, which may have a minus sign.
fn signed(text: &str) -> Result<BigRational> {
    text.strip_prefix('-').map_or_else(|| number(text), |text| Ok(-number(text)?))
}

/// Return a short fraction, or the ends of an interval around the number.
fn shown(number: &BigRational) -> String {
    let (text, low) = (number.to_string(), (number * BigInt::from(10).pow(20)).floor().to_integer());
    match text.len() {
        0..=39 => format!("exactly {text}"),
        _ => format!("from {low}e-20 to {}e-20", &low + 1),
    }
}

/// Parameters of a game, by name.
struct Parameters<'a>(HashMap<&'a str, Vec<&'a str>>);

impl<'a> Parameters<'a> {
    fn texts<const N: usize>(&self, name: &str) -> Result<[&'a str; N]> {
        self.0[name].clone().try_into().ok().with_context(|| format!("{name} has not {N} values"))
    }
    fn all<N: FromStr>(&self, name: &str) -> Result<Vec<N>> {
        self.0[name].iter().map(|text| whole(text)).collect()
    }
    fn one<N: FromStr>(&self, name: &str) -> Result<N> {
        whole(self.texts::<1>(name)?[0])
    }
}

/// What happened before: words, and the chips of the next player and of the other one.
#[derive(Clone, Default)]
struct State {
    words: Vec<String>,
    paid: [i64; 2],
}

impl State {
    fn then(&self, word: impl ToString, paid: [i64; 2]) -> State {
        State { words: [&self.words[..], &[word.to_string()]].concat(), paid }
    }
}

enum Node {
    /// A decision: its player, its label and its actions.
    Act(usize, String, Vec<(String, State)>),
    /// Outcomes with weights of chance.
    Chance(Vec<(BigInt, State)>),
    /// Permutations that change no weights before; and listed cards, each with permutations to all cards like it.
    Card(Vec<usize>, Vec<(State, Vec<usize>)>),
    /// For each pair of hands the position of its payoffs; and the payoffs by player.
    End(Rc<Vec<u8>>, Vec<Vec<BigInt>>),
}

type Lines<'a> = std::str::Split<'a, char>;
type Rules<'a> = Box<dyn FnMut(&State, &mut Lines) -> Result<Node> + 'a>;
type Weights = Vec<Rc<Vec<BigInt>>>;

struct Game<'a> {
    rules: Rules<'a>,
    start: State,
    /// Weight of each hand of each player in the deal.
    hands: Vec<Vec<BigInt>>,
    /// Permutations of the hands of both players.
    permutations: Vec<Vec<Vec<usize>>>,
    /// True if several nodes can have one label.
    shared: bool,
    /// Worth of a payoff, divided by the sum of all chances.
    unit: BigRational,
}

struct Infoset {
    /// Player, actions, and the player's infoset and action before.
    identity: (usize, Vec<String>, [usize; 2]),
    /// Weights of the hands after each action.
    rows: Weights,
    /// Sums of payoffs after each action, if nodes share labels.
    sums: Vec<BigInt>,
}

/// For each player and hand, the sums of payoffs of a best response and of the strategy.
type Sums = Vec<Vec<[BigInt; 2]>>;

fn add(sums: &mut Sums, more: Sums) {
    let more = more.into_iter().flatten().flatten();
    sums.iter_mut().flatten().flatten().zip(more).for_each(|(sum, more)| *sum += more);
}

struct Proof<'a> {
    game: Game<'a>,
    lines: Lines<'a>,
    /// The first infosets are before all actions of a player.
    infosets: Vec<Infoset>,
    labels: HashMap<String, usize>,
}

impl Proof<'_> {
    /// Return the sums after a state.  `reach` has the weights of the hands, and of chance at the end.
    fn visit(&mut self, state: &State, reach: &Weights, past: &[[usize; 2]]) -> Result<Sums> {
        let players = self.game.hands.len();
        let mut sums: Sums = self.game.hands.iter().map(|hands| vec![Default::default(); hands.len()]).collect();
        match (self.game.rules)(state, &mut self.lines)? {
            Node::End(pairs, payoffs) => {
                for player in 0..players {
                    // Two players have many hands, or all players have one.
                    let mut others = reach[players].to_vec();
                    for other in (0..players).filter(|&other| other != player) {
                        others = reach[other].iter().map(|weight| weight * &others[0]).collect();
                    }
                    for (hand, [best, value]) in sums[player].iter_mut().enumerate() {
                        let mut weights = vec![BigInt::zero(); payoffs.len()];
                        for (other, weight) in others.iter().enumerate().filter(|other| !other.1.is_zero()) {
                            let [row, column] = if player == 0 { [hand, other] } else { [other, hand] };
                            weights[pairs[row * (pairs.len() / reach[0].len()) + column] as usize] += weight;
                        }
                        *best = weights.iter().zip(&payoffs).map(|(weight, payoffs)| weight * &payoffs[player]).sum();
                        *value = &*best * &reach[player][hand];
                    }
                }
            }
            Node::Chance(outcomes) => {
                ensure!(!outcomes.is_empty(), "chance has no outcome");
                let total: BigInt = outcomes.iter().map(|outcome| &outcome.0).sum();
                ensure!(total == reach[players][0], "the weights of chance do not sum to those before");
                for (weight, state) in outcomes {
                    let mut reach = reach.clone();
                    reach[players] = Rc::new(vec![weight]);
                    add(&mut sums, self.visit(&state, &reach, past)?);
                }
            }
            Node::Card(group, cards) => {
                for (copy, player) in group.into_iter().cartesian_product(0..2) {
                    let mut images = self.game.permutations[copy][player].iter().zip(&*reach[player]);
                    let same = images.all(|(&image, weight)| reach[player][image] == *weight);
                    ensure!(same, "the weights of player {player} change with the suits");
                }
                for (state, copies) in cards {
                    let below = self.visit(&state, reach, past)?;
                    for (copy, player) in copies.into_iter().cartesian_product(0..2) {
                        for (&image, more) in self.game.permutations[copy][player].iter().zip(&below[player]) {
                            (0..2).for_each(|kind| sums[player][image][kind] += &more[kind]);
                        }
                    }
                }
            }
            Node::Act(player, label, actions) => {
                let names = actions.iter().map(|action| action.0.clone()).collect();
                let infoset =
                    self.infoset(&label, (player, names, past[player]), &reach[player]).context(label.clone())?;
                for (action, (_, state)) in actions.iter().enumerate() {
                    let (mut reach, mut past) = (reach.clone(), past.to_vec());
                    (reach[player], past[player]) = (self.infosets[infoset].rows[action].clone(), [infoset, action]);
                    let mut below = self.visit(state, &reach, &past)?;
                    if self.game.shared {
                        // The best action is known after all nodes of the infoset.
                        self.infosets[infoset].sums[action] += take(&mut below[player][0][0]);
                    } else if action > 0 {
                        for (known, more) in sums[player].iter_mut().zip(&mut below[player]) {
                            known[0] = take(&mut known[0]).max(take(&mut more[0]));
                        }
                    }
                    add(&mut sums, below);
                }
                if !self.game.shared {
                    self.infosets.pop();
                    self.labels.remove(&label);
                }
            }
        }
        Ok(sums)
    }

    /// Return the position of an infoset.
    fn infoset(&mut self, label: &str, identity: (usize, Vec<String>, [usize; 2]), before: &[BigInt]) -> Result<usize> {
        if !self.labels.contains_key(label) {
            let words = self.lines.next().unwrap_or_default().split('\t').collect_vec();
            let actions = words[1..].iter().step_by(2);
            ensure!(words[0] == label && actions.eq(&identity.1), "the actions are {:?}, not {words:?}", identity.1);
            let (mut rest, mut rows) = (before.to_vec(), vec![]);
            for text in words[1..].iter().skip(1).step_by(2) {
                let weights = text.split(' ').map(whole).collect::<Result<Vec<BigInt>>>()?;
                ensure!(weights.len() == rest.len(), "{} weights for {} hands", weights.len(), rest.len());
                let row =
                    weights.iter().zip(&self.game.hands[identity.0]).map(|(weight, hand)| weight * hand).collect_vec();
                rest.iter_mut().zip(&row).for_each(|(rest, weight)| *rest -= weight);
                rows.push(Rc::new(row));
            }
            let complete = rows.len() == identity.1.len() && rest.iter().all(BigInt::is_zero);
            ensure!(complete, "the weights do not sum to the weights before");
            self.labels.insert(label.to_string(), self.infosets.len());
            let sums = vec![BigInt::zero(); rows.len()];
            self.infosets.push(Infoset { identity: identity.clone(), rows, sums });
        }
        let infoset = self.labels[label];
        ensure!(self.infosets[infoset].identity == identity, "the player forgets actions");
        Ok(infoset)
    }
}

/// Return the rules of liar's dice.
fn liars_dice<'a>(given: Parameters) -> Result<Game<'a>> {
    let (faces, bid_faces, wild): (_, _, usize) = (given.one("faces")?, given.one("bid_faces")?, given.one("wild")?);
    let dice: [usize; 2] = given.all("dice")?.try_into().ok().context("two numbers of dice")?;
    let rolls = dice.map(|dice| (0..dice).map(|_| 1..=faces).multi_cartesian_product().collect_vec());
    let bids = (1..=dice[0] + dice[1]).cartesian_product(1..=bid_faces).collect_vec();
    let hands = rolls.iter().map(|rolls| vec![BigInt::one(); rolls.len()]).collect_vec();
    let unit = BigRational::new(BigInt::one(), (rolls[0].len() * rolls[1].len()).into());
    let rules = move |state: &State, _: &mut Lines| {
        let (name, player) = (|bid: &(usize, usize)| format!("{}x{}", bid.0, bid.1), state.words.len() % 2);
        let place = |word: &String| bids.iter().position(|bid| name(bid) == *word);
        if state.words.last().map_or(false, |word| word == "liar") {
            let (least, face) = bids[place(&state.words[state.words.len() - 2]).context("a bid")?];
            let count = |roll: &Vec<usize>| roll.iter().filter(|&&die| die == face || die == wild).count();
            let pairs = rolls[0].iter().cartesian_product(&rolls[1]);
            let truth = pairs.map(|(roll, other)| (count(roll) + count(other) >= least) as u8).collect();
            // The next player said the last bid.
            let payoffs =
                |won: i64| [0, 1].map(|other| BigInt::from(if other == player { won } else { -won })).to_vec();
            return Ok(Node::End(Rc::new(truth), vec![payoffs(-1), payoffs(1)]));
        }
        let first = state.words.last().and_then(place).map_or(0, |bid| bid + 1);
        let liar = (!state.words.is_empty()).then(|| "liar".to_string());
        let words = bids[first..].iter().map(name).chain(liar);
        let actions = words.map(|word| (word.clone(), state.then(word, [0, 0]))).collect();
        Ok(Node::Act(player, state.words.join(" "), actions))
    };
    Ok(Game { rules: Box::new(rules), start: State::default(), hands, permutations: vec![], shared: false, unit })
}

/// Return the rules of goofspiel.  Words of a state are a prize, both bids, a prize and so on.
fn goofspiel<'a>(given: Parameters<'a>) -> Result<Game<'a>> {
    let ([bids], [prizes], [payoff]) = (given.texts("bids")?, given.texts("prizes")?, given.texts("payoff")?);
    ensure!(["hidden", "seen"].contains(&bids), "bids {bids:?}");
    let cards: usize = given.one("cards")?;
    let rules = move |state: &State, _: &mut Lines| {
        let past = state.words.iter().map(|word| whole(word)).collect::<Result<Vec<usize>>>()?;
        let of = |column: usize| past.iter().copied().skip(column).step_by(3);
        let left = |column: usize| (1..=cards).filter(|&card| of(column).all(|known| known != card)).collect_vec();
        let (turn, [prize, first, second]) = (past.len() % 3, [0, 1, 2].map(left));
        if turn == 0 && prize.len() == 1 {
            let rounds = [past, vec![prize[0], first[0], second[0]]].concat();
            let points = |one: usize| {
                let won = rounds.chunks(3).filter(|round| round[one] > round[3 - one]);
                won.map(|round| round[0] as i64).sum::<i64>()
            };
            let (one, two) = (points(1), points(2));
            let doubled = match payoff {
                "win_loss" => [2 * (one - two).signum(), 2 * (two - one).signum()],
                "point_difference" => [one - two, two - one],
                "total_points" => [2 * one, 2 * two],
                _ => bail!("payoff {payoff:?}"),
            };
            return Ok(Node::End(Rc::new(vec![0]), vec![doubled.map(BigInt::from).to_vec()]));
        }
        if turn == 0 {
            let next = match prizes {
                "ascending" => &prize[..1],
                "descending" => &prize[prize.len() - 1..],
                "random" => &prize[..],
                _ => bail!("prizes {prizes:?}"),
            };
            let weight: BigInt = (1..next.len()).map(BigInt::from).product();
            let outcome = |card: &usize| (weight.clone(), state.then(card, [0, 0]));
            return Ok(Node::Chance(next.iter().map(outcome).collect()));
        }
        let seen = of(turn).zip(of(3 - turn)).map(|(own, rival)| match (bids, own.cmp(&rival)) {
            ("seen", _) => Ok(rival.to_string()),
            ("hidden", order) => Ok(["-", "=", "+"][(order as i8 + 1) as usize].to_string()),
            _ => bail!("bids {bids:?}"),
        });
        let label = [format!("P{}", turn - 1)].into_iter().chain(of(0).chain(of(turn)).map(|card| card.to_string()));
        let label = label.map(Ok).chain(seen).collect::<Result<Vec<_>>>()?.join(" ");
        let action = |card: &usize| (card.to_string(), state.then(card, [0, 0]));
        Ok(Node::Act(turn - 1, label, [first, second][turn - 1].iter().map(action).collect()))
    };
    let (hands, unit) = (vec![vec![BigInt::one()]; 2], BigRational::new(1.into(), 2.into()));
    Ok(Game { rules: Box::new(rules), start: State::default(), hands, permutations: vec![], shared: true, unit })
}

/// Return the rules of a tree, whose nodes are lines of the file.
fn tree<'a>(given: Parameters) -> Result<Game<'a>> {
    let (players, unit) = (given.one("players")?, number(given.texts::<1>("unit")?[0])?);
    let rules = move |_: &State, lines: &mut Lines| {
        Ok(match lines.next().unwrap_or_default().split('\t').collect_vec()[..] {
            ["infoset", player, label, ref actions @ ..] => {
                ensure!(actions.iter().all_unique() && !actions.is_empty(), "{label:?}: {actions:?}");
                let actions = actions.iter().map(|action| (action.to_string(), State::default())).collect();
                let player = whole(player)?;
                ensure!(player < players, "{label:?} has no player");
                Node::Act(player, label.to_string(), actions)
            }
            ["chance", ref weights @ ..] => Node::Chance(
                weights.iter().map(|weight| Ok((whole(weight)?, State::default()))).collect::<Result<_>>()?,
            ),
            ["end", ref payoffs @ ..] => {
                ensure!(payoffs.len() == players, "{} payoffs of {players} players", payoffs.len());
                let payoff = |text: &&str| {
                    text.strip_prefix('-').map_or_else(|| whole(text), |text| Ok(-whole::<BigInt>(text)?))
                };
                Node::End(Rc::new(vec![0]), vec![payoffs.iter().map(payoff).collect::<Result<_>>()?])
            }
            ref words => bail!("{words:?} is not a node"),
        })
    };
    let hands = vec![vec![BigInt::one()]; players];
    Ok(Game { rules: Box::new(rules), start: State::default(), hands, permutations: vec![], shared: true, unit })
}

struct Poker<'a> {
    given: Parameters<'a>,
    /// Names of the cards, by rank, and number of suits.
    names: Vec<String>,
    suits: usize,
    /// Cards of each player's hands, as bits; cards on the board at the start, and dead cards.
    hands: Vec<Vec<u64>>,
    board: u64,
    dead: u64,
    /// Number of cards on the board at the end.
    cards: u32,
    raises: HashMap<&'a str, Vec<i64>>,
    /// Permutations of the cards.
    images: Vec<Vec<usize>>,
    pairs: HashMap<u64, Rc<Vec<u8>>>,
}

/// Return the rules of a game of cards.
fn poker<'a>(given: Parameters<'a>) -> Result<Game<'a>> {
    let (ranks, suits, size): (usize, usize, usize) = (given.one("ranks")?, given.one("suits")?, given.one("size")?);
    let (cards, small): (u32, _) = (given.one("cards")?, given.0["counts"].is_empty());
    let letters = if small { "shdc" } else { "cdhs" }.get(..suits).context("too many suits")?;
    let rank =
        |rank: usize| if small { rank.to_string() } else { "23456789TJQKA"[13 - ranks + rank..][..1].to_string() };
    let names = (0..ranks).cartesian_product(letters.chars());
    let names = names.map(|(place, suit)| format!("{}{suit}", rank(place))).collect_vec();
    ensure!((2..=64).contains(&names.len()), "a deck of {} cards", names.len());
    let mask = |cards: &[usize]| cards.iter().map(|card| 1 << card).sum::<u64>();
    let place = |card: &&str| names.iter().position(|name| name == card);
    let known = given.0["board"].iter().chain(&given.0["dead"]).map(place);
    let known = known.collect::<Option<Vec<_>>>().filter(|cards| cards.iter().all_unique());
    let known = known.context("a card of the board or a dead card is unknown or comes twice")?;
    let (board, dead) = known.split_at(given.0["board"].len());
    let (board, dead) = (mask(board), mask(dead));
    let left = cards.checked_sub(board.count_ones()).filter(|left| *left < 3).context("a board of other cards")?;
    let free = (0..names.len()).filter(|card| (board | dead) >> card & 1 == 0);
    let deals = free.combinations(size).map(|hand| mask(&hand)).collect_vec();
    let (mut hands, mut weights): (Vec<Vec<u64>>, Vec<Vec<BigInt>>) = Default::default();
    for text in given.texts::<2>("hands")? {
        let all = if text == "all" { deals.iter().map(|_| "1").join(" ") } else { text.to_string() };
        let all = all.split(' ').map(whole).collect::<Result<Vec<BigInt>>>()?;
        ensure!(all.len() == deals.len(), "{} weights for {} hands", all.len(), deals.len());
        let (known, range) = deals.iter().copied().zip(all).filter(|hand| hand.1.is_positive()).unzip();
        (hands.push(known), weights.push(range));
    }
    let rounds = if size == 1 && given.one::<usize>("actions")? == 0 { left as usize + 1 } else { 0 };
    ensure!([given.0["bets"].len(), given.0["caps"].len()] == [rounds; 2], "a round has not one bet");
    let line = |text: &&'a str| {
        let (line, totals) = text.split_once(':').context("raises without a line")?;
        Ok((line, totals.split(' ').map(whole).collect::<Result<_>>()?))
    };
    let raises = given.0["raises"].iter().map(line).collect::<Result<HashMap<_, _>>>()?;
    ensure!(raises.len() == given.0["raises"].len(), "a line comes twice");
    let (mut images, mut permutations) = (vec![], vec![]);
    let merged = ["no", "yes"].iter().position(|word| given.0["merged"] == [*word]).context("merged or not?")?;
    for order in (0..suits).permutations(suits).take(1 + 23 * merged) {
        let image = (0..names.len()).map(|card| card / suits * suits + order[card % suits]).collect_vec();
        let moved = |cards: u64| {
            mask(&(0..names.len()).filter(|card| cards >> card & 1 == 1).map(|card| image[card]).collect_vec())
        };
        let of_player = |(hands, weights): (&Vec<u64>, &Vec<BigInt>)| {
            let place = |(hand, weight): (&u64, _)| {
                hands.iter().zip(weights).position(|other| other == (&moved(*hand), weight))
            };
            hands.iter().zip(weights).map(place).collect::<Option<Vec<_>>>()
        };
        let both = hands.iter().zip(&weights).map(of_player).collect::<Option<Vec<_>>>();
        if let (true, Some(both)) = ([board, dead].map(moved) == [board, dead], both) {
            permutations.push(both);
            images.push(image);
        }
    }
    let (paid, unit) = ([given.one("ante")?; 2], number(given.texts::<1>("unit")?[0])?);
    let mut game = Poker { given, names, suits, hands, board, dead, cards, raises, images, pairs: HashMap::new() };
    let pairs = game.pairs(board);
    let possible = weights[0].iter().cartesian_product(&weights[1]).zip(&*pairs).filter(|pair| *pair.1 > 0);
    let chances = possible.map(|((first, second), _)| first * second).sum::<BigInt>() * game.ways(board);
    ensure!(chances.is_positive(), "no pair of hands is possible");
    let (rules, unit) = (Box::new(move |state: &State, _: &mut Lines| game.node(state)), unit / chances);
    Ok(Game { rules, start: State { words: vec![], paid }, hands: weights, permutations, shared: false, unit })
}

impl Poker<'_> {
    /// Return the number of ways to deal the other cards of the board.
    fn ways(&self, board: u64) -> BigInt {
        let unseen = self.names.len() as u32 - (board | self.dead).count_ones() - 2 * self.hands[0][0].count_ones();
        (0..self.cards - board.count_ones()).map(|dealt| BigInt::from(unseen - dealt)).product()
    }

    /// Return for each pair of hands 0 if it is impossible, 1 if player 0 loses, 2 at a draw, 3 if player 0 wins.
    fn pairs(&mut self, board: u64) -> Rc<Vec<u8>> {
        if !self.pairs.contains_key(&board) {
            let strength = |&hand: &u64| {
                let cards = (0..64).filter(|card| (hand | board) >> card & 1 == 1).collect_vec();
                let complete = board.count_ones() == self.cards && hand & board == 0;
                complete
                    .then(|| cards.iter().copied().combinations(cards.len().min(5)).map(|five| self.rank(&five)).max())
            };
            let rated = self.hands.iter().map(|hands| hands.iter().map(|hand| (*hand, strength(hand))).collect_vec());
            let [first, second]: [Vec<_>; 2] = rated.collect_vec().try_into().unwrap();
            let pair = |((hand, rating), (other, against)): (&(u64, _), &(u64, _))| {
                let possible = hand & other | (hand | other) & board == 0;
                possible as u8 * (2 + Ord::cmp(rating, against) as i8) as u8
            };
            let pairs = first.iter().cartesian_product(&second).map(pair).collect();
            self.pairs.insert(board, Rc::new(pairs));
        }
        self.pairs[&board].clone()
    }

    /// Return the counts of the ranks and the ranks, which are higher for better cards.
    fn rank(&self, cards: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let counted =
            cards.iter().counts_by(|card| card / self.suits + 1).into_iter().map(|(rank, count)| (count, rank));
        let (mut counts, mut ranks): (Vec<_>, Vec<_>) = counted.sorted().rev().unzip();
        let size = cards.len();
        if !self.given.0["counts"].is_empty() && ranks.len() == size {
            if ranks[0] == self.names.len() / self.suits && ranks[1] == size - 1 {
                // The ace is below the lowest rank.
                ranks.rotate_left(1);
                ranks[size - 1] = 0;
            }
            let straight = ranks[0] - ranks[size - 1] == size - 1;
            let flush = cards.iter().map(|card| card % self.suits).all_equal();
            if straight || flush {
                let text = self.given.0["counts"][straight as usize + 2 * flush as usize - 1];
                counts = text.bytes().map(|digit| (digit - b'0') as usize).collect();
            }
        }
        (counts, ranks)
    }

    fn node(&mut self, state: &State) -> Result<Node> {
        let place = |word: &String| self.names.iter().position(|name| name == word);
        let round = state.words.iter().rposition(|word| place(word).is_some()).map_or(0, |card| card + 1);
        let (line, dealt) = (&state.words[round..], state.words.iter().filter_map(place).collect_vec());
        let board = dealt.iter().fold(self.board, |board, card| board | 1 << card);
        let ([own, other], player, last) = (state.paid, line.len() % 2, line.last().map_or("", |word| word));
        let stack = self.given.one("stack")?;
        let over = last == "call" && line.len() > 1 || line.is_empty() && other == stack;
        if last == "fold" || over && board.count_ones() == self.cards {
            let (pot, ways) = (self.given.one::<BigInt>("pot")? + 2 * own.min(other), self.ways(board));
            let [chip, part, most] = &self.given.all::<BigInt>("rates")?[..] else { bail!("rates are missing") };
            let (worth, rake) = (&pot * chip, most.min(&(&pot * part)).clone());
            let pays = |units: [BigInt; 2]| units.map(|units| &ways * units).to_vec();
            let [won, lost] = [&worth - 2 * &rake, -worth];
            let (win, lose) = (pays([won.clone(), lost.clone()]), pays([lost, won]));
            let draw = pays([-&rake, -rake]);
            let mut payoffs = vec![pays(Default::default()), lose.clone(), draw, win.clone()];
            if last == "fold" {
                payoffs[1..].fill(if player == 0 { win } else { lose });
            }
            return Ok(Node::End(self.pairs(board), payoffs));
        }
        if over {
            let fixed = |&image: &usize| dealt.iter().all(|&card| self.images[image][card] == card);
            let group = (0..self.images.len()).filter(fixed).collect_vec();
            let mut cards = vec![];
            for card in (0..self.names.len()).filter(|card| (board | self.dead) >> card & 1 == 0) {
                if group.iter().all(|&image| self.images[image][card] >= card) {
                    let copies = group.iter().copied().unique_by(|&image| self.images[image][card]).collect();
                    cards.push((state.then(&self.names[card], state.paid), copies));
                }
            }
            return Ok(Node::Card(group, cards));
        }
        let past = state.words.iter().filter(|word| place(word).is_none()).join(" ");
        // A raise is as high as the last one, or all in.
        let least = (2 * other - own).min(stack).max(other + 1);
        let (bets, caps) = (self.given.all::<i64>("bets")?, self.given.all("caps")?);
        let raised = line.iter().filter(|word| whole::<i64>(word).is_ok()).count();
        let actions: usize = self.given.one("actions")?;
        let raises: Vec<i64> = match (bets.get(dealt.len()), self.raises.get(&*past)) {
            (Some(chips), _) => vec![other + chips; (raised < caps[dealt.len()]) as usize],
            (None, Some(totals)) => totals.clone(),
            (None, None) => (least..=stack).filter(|_| line.len() + 1 < actions).collect(),
        };
        let legal = raises.iter().all(|total| (least..=stack).contains(total));
        ensure!(
            legal && raises.iter().tuple_windows().all(|(low, high)| low < high),
            "raises after {past:?}: {raises:?}"
        );
        let fold = (own < other).then(|| ("fold".to_string(), own));
        let totals = fold.into_iter().chain([("call".to_string(), other)]);
        let totals = totals.chain(raises.iter().map(|total| (total.to_string(), *total)));
        let after = |(word, total): (String, i64)| (word.clone(), state.then(word, [other, total]));
        Ok(Node::Act(player, state.words.join(" "), totals.map(after).collect()))
    }
}

/// Prove all claims of a file, and return the lines to print.
fn check(file: &str) -> Result<String> {
    let (title, rest) = file.split_once('\n').context("no lines")?;
    let digest = format!("{:x}", Sha256::digest(rest));
    ensure!(title == format!("tensorcfr certificate 3 {digest}"), "another format or digest: {title:?}");
    let (head, claims, body) = rest.split("\n\n").collect_tuple().context("there are not three parts")?;
    let rows = head.split('\n').map(|line| line.split('\t').collect_vec()).collect_vec();
    let [_, name] = &rows[0][..] else { bail!("the first line is not the name of a game") };
    let words =
        GAMES.iter().find(|game| game.0 == *name).with_context(|| format!("the rules of {name:?} are not known"))?.1;
    let names = words.split(' ').filter(|word| !word.contains('='));
    let expected = ["game"].into_iter().chain(names).chain(["totals"]);
    ensure!(rows.iter().map(|row| row[0]).eq(expected.clone()), "the first lines are not {:?}", expected.collect_vec());
    let large = if name.ends_with("dem") || name.starts_with("short") { HOLDEM } else { "" };
    let fixed =
        [SMALL, large, words].into_iter().flat_map(|words| words.split(' ')).filter_map(|word| word.split_once('='));
    let fixed = fixed.map(|(name, values)| (name, values.split(',').filter(|value| !value.is_empty()).collect_vec()));
    let given = rows.iter().map(|row| (row[0], row[1..].to_vec()));
    let parameters = Parameters(fixed.chain(given).collect());
    let totals: Vec<BigInt> = parameters.all("totals")?;
    let game = match *name {
        "liars_dice" => liars_dice(parameters),
        "goofspiel" => goofspiel(parameters),
        "tree" => tree(parameters),
        _ => poker(parameters),
    }?;
    let players = game.hands.len();
    ensure!(game.unit.is_positive(), "the unit is 0");
    ensure!(totals.len() == players + 1 && totals.iter().all(BigInt::is_positive), "the totals are wrong");
    let weights = game.hands.iter().zip(&totals).map(|(hands, total)| hands.iter().map(|hand| hand * total).collect());
    let reach = weights.chain([vec![totals[players].clone()]]).map(Rc::new).collect();
    let unit = totals.iter().fold(game.unit.clone(), |unit, total| unit / total);
    let (start, past) = (game.start.clone(), (0..players).map(|player| [player, 0]).collect_vec());
    let none =
        |player: usize| Infoset { identity: (player, vec![], [player, 0]), rows: vec![], sums: vec![BigInt::zero()] };
    let infosets = (0..players).map(none).collect();
    let mut proof = Proof { game, lines: body.split('\n'), infosets, labels: HashMap::new() };
    let sums = proof.visit(&start, &reach, &past)?;
    ensure!(proof.lines.eq([""]), "there are more lines than decisions");
    while proof.infosets.len() > players {
        let Infoset { identity: (_, _, [infoset, action]), sums, .. } = proof.infosets.pop().unwrap();
        proof.infosets[infoset].sums[action] += sums.into_iter().max().unwrap();
    }
    let mut proven = vec![("exploitability".to_string(), BigRational::zero())];
    for (player, sums) in sums.iter().enumerate() {
        let hands = sums.iter().zip(&proof.game.hands[player]).map(|(sum, hand)| &sum[0] * hand);
        let best = (hands.sum::<BigInt>() + &proof.infosets[player].sums[0]) * &totals[player];
        let (best, value) = (&unit * best, &unit * sums.iter().map(|sum| &sum[1]).sum::<BigInt>());
        proven[0].1 += (&best - &value) / BigInt::from(players);
        proven.extend([(format!("value {player}"), value), (format!("best response {player}"), best)]);
    }
    ensure!(
        claims.split('\n').count() == proven.len(),
        "the claims are not {:?}",
        proven.iter().map(|claim| &claim.0).collect_vec()
    );
    let line = |(claim, (name, exact)): (&str, (String, BigRational))| {
        let (stated, lower, upper) = claim.split('\t').collect_tuple().context("a claim has no interval")?;
        ensure!(stated == name && signed(lower)? <= exact && exact <= signed(upper)?, "{name} is {}", shown(&exact));
        Ok(format!("{name}: {}\n", shown(&exact)))
    };
    claims.split('\n').zip(proven).map(line).collect()
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    // Trees may be deep.
    let work = move || std::fs::read_to_string(path).map_err(Into::into).and_then(|file| check(&file));
    std::panic::set_hook(Box::new(|_| ()));
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work).expect("a thread");
    match thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a number is too large"))) {
        Ok(lines) => print!("{lines}"),
        Err(reason) => {
            eprintln!("refused: {reason:#}");
            std::process::exit(1)
        }
    }
}
