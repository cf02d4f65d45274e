// One spot solved by postflop-solver, timed; benchmarks/holdem.py builds and runs it.
//
// Arguments: oop ip board pot stack bets raises donk rake cap threads iterations target
//   precision thresholds
// Bets are "60%" or by street "52%/55%/70%"; precision is float32 or int16; thresholds are those of
// adding all-in, of making a bet all-in, and of merging sizes, "1.5/0.15/0.1".
// Prints: hands, bytes in f32 and in 16 bit, then a line per solve:
//   "iterations N mean_ms M min_ms L" and "target iterations N seconds S exploitability E".
// With 0 iterations it only solves to the target.

use postflop_solver::*;
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
    let streets: Vec<&str> = arguments[5].split('/').collect();
    let sizes = |street: usize| {
        let bets = streets[street.min(streets.len() - 1)];
        let both = BetSizeOptions::try_from((bets, arguments[6].as_str())).unwrap();
        [both.clone(), both]
    };
    let thresholds: Vec<f64> = arguments[14].split('/').map(|t| t.parse().unwrap()).collect();
    let donk = || match arguments[7].as_str() {
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
        turn_donk_sizes: if board.len() < 8 { donk() } else { None },
        river_donk_sizes: if board.len() < 10 { donk() } else { None },
        add_allin_threshold: thresholds[0],
        force_allin_threshold: thresholds[1],
        merging_threshold: thresholds[2],
    };
    let mut game = PostFlopGame::with_config(cards, ActionTree::new(tree).unwrap()).unwrap();
    game.allocate_memory(arguments[13] == "int16");
    game
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads: usize = arguments[10].parse().unwrap();
    let iterations: u32 = arguments[11].parse().unwrap();
    let target: f32 = arguments[12].parse().unwrap();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    let mut game = build(&arguments);
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
                return;
            }
        }
    }
    println!("target not reached");
}
