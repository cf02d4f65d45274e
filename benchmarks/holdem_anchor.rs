// One spot solved by postflop-solver, timed; benchmarks/holdem.py builds and runs it.
//
// Arguments: oop ip board pot stack bets raises donk rake cap threads iterations target
//   precision thresholds folded [file] [given]
// Bets and raises are "60%", or by street "52%/55%/70%", each for both players or "oop;ip"; donk
// bets are "-" for none, or by street "-/33%", for the turn and the river; precision is float32 or
// int16; thresholds are those of adding all-in, of making a bet all-in, and of merging sizes,
// "1.5/0.15/0.1"; folded is "-", or the ranges of players who have folded, with "|" between.
// Prints: hands, bytes in f32 and in 16 bit, then a line per solve:
//   "iterations N mean_ms M min_ms L" and "target iterations N seconds S exploitability E".
// With 0 iterations it only solves to the target.
// With a file it then prints the exploitability of the solution, for each player the hands of the
// range with how likely they are, equities and values at the start, and a line for each decision,
// "decision PLAYER LINE | ACTIONS"; the strategies go to the file, float32, one decision after the
// other, [action][hand].  With a second file, of such strategies, it shows those and solves nothing.

use postflop_solver::*;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::time::Instant;

fn cpu_seconds() -> f64 {
    // User and system time of this process: what other processes take does not count.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn build(arguments: &[String]) -> PostFlopGame {
    let board = &arguments[2];
    let cards = CardConfig {
        range: [arguments[0].parse().unwrap(), arguments[1].parse().unwrap()],
        flop: flop_from_str(&board[..6]).unwrap(),
        turn: if board.len() > 6 { card_from_str(&board[6..8]).unwrap() } else { NOT_DEALT },
        river: if board.len() > 8 { card_from_str(&board[8..10]).unwrap() } else { NOT_DEALT },
    };
    let part = |text: &str, separator: char, at: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        parts[at.min(parts.len() - 1)].to_string()
    };
    let sizes = |street: usize| {
        [0, 1].map(|player| {
            let own = |text: &str| part(&part(text, '/', street), ';', player);
            let (bets, raises) = (own(&arguments[5]), own(&arguments[6]));
            BetSizeOptions::try_from((bets.as_str(), raises.as_str())).unwrap()
        })
    };
    let thresholds: Vec<f64> = arguments[14].split('/').map(|t| t.parse().unwrap()).collect();
    let donk = |street: usize| match part(&arguments[7], '/', street).as_str() {
        "-" => None,
        text => Some(DonkSizeOptions::try_from(text).unwrap()),
    };
    let tree = TreeConfig {
        initial_state: match board.len() {
            6 => BoardState::Flop,
            8 => BoardState::Turn,
            _ => BoardState::River,
        },
        starting_pot: arguments[3].parse().unwrap(),
        effective_stack: arguments[4].parse().unwrap(),
        rake_rate: arguments[8].parse().unwrap(),
        rake_cap: arguments[9].parse().unwrap(),
        flop_bet_sizes: sizes(0),
        turn_bet_sizes: sizes(1),
        river_bet_sizes: sizes(2),
        turn_donk_sizes: if board.len() < 8 { donk(0) } else { None },
        river_donk_sizes: if board.len() < 10 { donk(1) } else { None },
        add_allin_threshold: thresholds[0],
        force_allin_threshold: thresholds[1],
        merging_threshold: thresholds[2],
    };
    let mut game = PostFlopGame::with_config(cards, ActionTree::new(tree).unwrap()).unwrap();
    if arguments[15] != "-" {
        let ranges: Vec<Range> = arguments[15].split('|').map(|t| t.parse().unwrap()).collect();
        let mut data = BunchingData::new(&ranges, flop_from_str(&board[..6]).unwrap()).unwrap();
        data.process(false);
        game.set_bunching_effect(&data).unwrap();
    }
    game.allocate_memory(arguments[13] == "int16");
    game
}

fn label(action: &Action) -> String {
    match action {
        Action::Bet(amount) => format!("bet{amount}"),
        Action::Raise(amount) => format!("raise{amount}"),
        other => format!("{other:?}").split('(').next().unwrap().to_lowercase(),
    }
}

// A decision: who acts, the line, the actions, and the way there in the tree that is stored, None
// where a card is dealt that is stored as one of another suit.
struct Decision {
    player: usize,
    line: String,
    actions: Vec<String>,
    stored: Option<Vec<usize>>,
    strategy: Vec<f32>,
}

fn walk(
    game: &mut PostFlopGame,
    line: &mut Vec<String>,
    stored: Option<Vec<usize>>,
    visit: &mut dyn FnMut(Decision),
) {
    if game.is_terminal_node() {
        return;
    }
    let history = game.history().to_vec();
    let actions = game.available_actions();
    let steps: Vec<(usize, String, Option<usize>)> = if game.is_chance_node() {
        let cards = game.possible_cards();
        let dealt = (0..52u8).filter(|card| cards >> card & 1 == 1);
        let kept = |card: u8| actions.iter().position(|action| *action == Action::Chance(card));
        dealt.map(|card| (card as usize, card_to_string(card).unwrap(), kept(card))).collect()
    } else {
        let labels: Vec<String> = actions.iter().map(label).collect();
        visit(Decision {
            player: game.current_player(),
            line: line.join(" "),
            actions: labels.clone(),
            stored: stored.clone(),
            strategy: game.strategy(),
        });
        labels.into_iter().enumerate().map(|(k, label)| (k, label, Some(k))).collect()
    };
    for (step, label, kept) in steps {
        game.apply_history(&history);
        game.play(step);
        line.push(label);
        let way = stored.as_ref().zip(kept).map(|(way, k)| [way.as_slice(), &[k]].concat());
        walk(game, line, way, visit);
        line.pop();
    }
}

fn walk_all(game: &mut PostFlopGame, mut visit: impl FnMut(Decision)) {
    game.back_to_root();
    walk(game, &mut Vec::new(), Some(Vec::new()), &mut visit);
    game.back_to_root();
}

fn read(game: &mut PostFlopGame, path: &str) {
    let mut file = BufReader::new(File::open(path).unwrap());
    let mut found = Vec::new();
    walk_all(game, |decision| {
        let mut bytes = vec![0; 4 * decision.strategy.len()];
        file.read_exact(&mut bytes).unwrap();
        if let Some(way) = decision.stored {
            let numbers = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
            found.push((way, numbers.collect::<Vec<f32>>()));
        }
    });
    for (way, strategy) in found {
        set(&mut game.root(), &way, &strategy);
    }
}

fn set(node: &mut PostFlopNode, way: &[usize], strategy: &[f32]) {
    match way {
        [] => node.strategy_mut().copy_from_slice(strategy),
        [first, rest @ ..] => set(&mut node.play(*first), rest, strategy),
    }
}

fn show(game: &mut PostFlopGame, path: &str) {
    println!("exploitability {}", compute_exploitability(game));
    finalize(game);
    game.cache_normalized_weights();
    for player in 0..2 {
        let hands = holes_to_strings(game.private_cards(player)).unwrap();
        println!("hands {} {}", player, hands.join(" "));
        let weights = game.normalized_weights(player).to_vec();
        let (equities, values) = (game.equity(player), game.expected_values(player));
        for (name, row) in [("weights", weights), ("equities", equities), ("values", values)] {
            let texts: Vec<String> = row.iter().map(f32::to_string).collect();
            println!("{} {} {}", name, player, texts.join(" "));
        }
    }
    let mut file = BufWriter::new(File::create(path).unwrap());
    walk_all(game, |decision| {
        let actions = decision.actions.join(" ");
        println!("decision {} {} | {}", decision.player, decision.line, actions);
        for number in decision.strategy {
            file.write_all(&number.to_le_bytes()).unwrap();
        }
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads: usize = arguments[10].parse().unwrap();
    let iterations: u32 = arguments[11].parse().unwrap();
    let target: f32 = arguments[12].parse().unwrap();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    let mut game = build(&arguments);
    if let Some(given) = arguments.get(17) {
        read(&mut game, given);
        return show(&mut game, &arguments[16]);
    }
    let (single, short) = game.memory_usage();
    println!(
        "hands {} {} bytes {} {}",
        game.private_cards(0).len(),
        game.private_cards(1).len(),
        single,
        short
    );
    if iterations > 0 {
        let (mut least, begin, cpu) = (f64::INFINITY, Instant::now(), cpu_seconds());
        for t in 0..iterations {
            let start = Instant::now();
            solve_step(&game, t);
            least = least.min(start.elapsed().as_secs_f64());
        }
        println!(
            "iterations {} mean_ms {} min_ms {} cpu_ms {}",
            iterations,
            begin.elapsed().as_secs_f64() * 1e3 / iterations as f64,
            least * 1e3,
            (cpu_seconds() - cpu) * 1e3 / iterations as f64
        );
        drop(game);
        game = build(&arguments);
    }
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    for t in 0..20000 {
        solve_step(&game, t);
        if (t + 1) % 10 == 0 {
            let found = compute_exploitability(&game);
            if found <= target {
                println!(
                    "target iterations {} seconds {} cpu {} exploitability {}",
                    t + 1,
                    begin.elapsed().as_secs_f64(),
                    cpu_seconds() - cpu,
                    found
                );
                if let Some(path) = arguments.get(16) {
                    show(&mut game, path);
                }
                return;
            }
        }
    }
    println!("target not reached");
}
