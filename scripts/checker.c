/* Check a certificate of tensorcfr. The program is written from docs/certificates.md alone, independently of the
 * checker in Python. Compile it with `cc -std=c11 -O2 -o checker checker.c -lm`, and run `./checker kuhn.cert`.
 *
 * One pass over all histories computes every number as an interval, and as a fraction too while 62 bits suffice.
 * The exit status is 0 if every claim is proven, else 1, with the reason on the standard error. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { PLAYERS = 10, TEXT = 1000, MOST = 100000 };
__extension__ typedef __int128 Wide;
_Static_assert(sizeof(long double) > sizeof(double), "a long double must hold whole numbers of 62 bits");
#define PUT(text, ...) (snprintf(text, TEXT, __VA_ARGS__) < TEXT ? text : (refuse("%.40s... is too long", text), text))

static void refuse(const char *why, const char *of) { fputs("refused: ", stderr), fprintf(stderr, why, of), fputs("\n", stderr), exit(1); }
static void *grow(void *old, size_t bytes) { return (old = realloc(old, bytes + 1)) ? old : (refuse("no %s", "memory"), old); }
/* lo <= x <= hi, and x = p/q exactly if q > 0. A processor rounds to nearest: one step outwards bounds a result. */
typedef struct { long double lo, hi; int64_t p, q; } Number;
static Number between(long double a, long double b) { return (Number){nextafterl(a, -INFINITY), nextafterl(b, INFINITY), 0, 0}; }
static int fraction(Wide p, Wide q, Number *x) { /* Return 0 if it does not fit. */
    Wide a = p < 0 ? -p : p, b = q, rest;
    while (b) rest = a % b, a = b, b = rest;
    if ((p < 0 ? -p : p) / a >> 62 || q / a >> 62) return 0;
    *x = p % q ? between((long double)(p / a) / (q / a), (long double)(p / a) / (q / a)) : (Number){p / q, p / q, 0, 0};
    return x->p = (int64_t)(p / a), x->q = (int64_t)(q / a), 1;
}
static Number ratio(Wide p, Wide q) { Number x; return fraction(p, q, &x) ? x : (refuse("a number is too %s", "long"), x = (Number){0}); }
static Number add(Number a, Number b) {
    Number x;
    if (a.q && b.q && fraction((Wide)a.p * b.q + (Wide)b.p * a.q, (Wide)a.q * b.q, &x)) return x;
    return a.q && !a.p ? b : b.q && !b.p ? a : between(a.lo + b.lo, a.hi + b.hi);
}
static Number minus(Number a, Number b) { return add(a, (Number){-b.hi, -b.lo, -b.p, b.q}); }
static Number times(Number a, Number b) {
    Number x;
    if (a.q && b.q && fraction((Wide)a.p * b.p, (Wide)a.q * b.q, &x)) return x;
    if ((a.q && !a.p) || (b.q && !b.p)) return ratio(0, 1);
    long double c = a.lo * b.lo, d = a.lo * b.hi, e = a.hi * b.lo, f = a.hi * b.hi;
    return between(fminl(fminl(c, d), fminl(e, f)), fmaxl(fmaxl(c, d), fmaxl(e, f)));
}
static int at_most(Number a, Number b) { return a.hi <= b.lo || minus(b, a).lo >= 0; } /* a <= b for certain */
static Number larger(Number a, Number b) {
    return at_most(a, b) ? b : at_most(b, a) ? a : (Number){fmaxl(a.lo, b.lo), fmaxl(a.hi, b.hi), 0, 0};
}
/* Read a fraction of whole numbers, or a decimal, which stands for itself or for the nearest double. */
static Number number(const char *s, int nearest) {
    const char *slash = strchr(s, '/'), *point = strchr(s, '.'), *below = slash ? slash + 1 : "1";
    char *end, *low;
    long double x = nearest && !slash ? (long double)strtod(s, &end) : strtold(s, &end), q = strtold(below, &low), power = 1;
    if (!*s || s[strspn(s, slash ? "-0123456789/" : "0123456789+-.eE")] || *low || !(q >= 1) || !isfinite(x)
        || (slash ? end != slash : *end)) refuse("'%.40s' is not a number", s);
    if (slash && slash - s < 19 && strlen(below) < 19) return ratio(strtoll(s, NULL, 10), strtoll(below, NULL, 10));
    if (slash) return times(between(x, x), between(1 / nextafterl(q, INFINITY), 1 / nextafterl(q, 0)));
    for (int k = point ? (int)strlen(point + 1) : 0; k > 0; k--) power *= 10;
    if (!nearest) return strlen(s) < 19 && !strpbrk(s, "eE") ? ratio(llroundl(x * power), (Wide)power) : between(x, x);
    Number result = {x, x, 0, 0};
    for (power = 1; x != floorl(x) && power < 0x1p61L; power *= 2) x *= 2;
    return x == floorl(x) && fabsl(x) < 0x1p62L ? (fraction((Wide)x, (Wide)power, &result), result) : result;
}
/* JSON: the type is the first character, and an array or object has its n entries in order. Commas are blanks. Texts
 * keep their escapes, which are the same in JSON and in labels of Gambit's format. */
typedef struct Json { char *key, type, *text; int n; struct Json *at; } Json;
static const char *next;
static char skip(void) { return *(next += strspn(next, " \t\r\n,")); }
static char *until(const char *end) { return strncat(strcpy(grow(NULL, (size_t)(end - next)), ""), next, (size_t)(end - next)); }
static char *word(void) {
    char *text = (skip(), until(next + strcspn(next, " \t\r\n,:[]{}\"")));
    return next += strlen(text), text;
}
static char *quoted(void) {
    if (skip() != '"') refuse("a quotation mark is missing before %.20s", next);
    const char *end = ++next;
    for (; *end != '"'; end++) if (!*end || (*end == '\\' && !*++end)) refuse("a text does not end: %.20s", next);
    char *text = until(end);
    return next = end + 1, text;
}
static Json read_json(int depth) {
    Json j = {.type = skip()};
    char end = j.type == '{' ? '}' : j.type == '[' ? ']' : 0;
    if (depth > 20 || !j.type || strchr("]}:", j.type)) refuse("the file is not JSON before %.20s", next);
    if (!end) return j.text = j.type == '"' ? quoted() : word(), j;
    for (next++; skip() != end; j.n++) {
        if (!(j.n & (j.n - 1))) j.at = grow(j.at, sizeof(Json) * (size_t)(2 * j.n + 1));
        char *key = end == '}' ? quoted() : NULL;
        if (key && (skip(), *next++ != ':')) refuse("the file has no colon after %s", key);
        j.at[j.n] = read_json(depth + 1), j.at[j.n].key = key;
    }
    return next++, j;
}
static Json *entry(Json *j, const char *key, char type) { /* of any type if it is 0, and then maybe NULL */
    Json *found = NULL;
    for (int k = 0; j->type == '{' && k < j->n; k++)
        if (!strcmp(j->at[k].key, key)) found = found ? refuse("the file has %s twice", key), found : &j->at[k];
    return !type || (found && found->type == type) ? found : (refuse("the file has no sound entry %s", key), found);
}
/* Compute the SHA-256 of a text. Its constants are the first bits of the roots of primes. */
#define TURNED(x, by) ((x) >> (by) | (x) << (32 - (by)))
static char *sha256(const char *text, size_t length, char hex[65]) {
    uint32_t k[64], h[8], w[64], v[8];
    for (int n = 2, i = 0, d; i < 64; n++) {
        for (d = 2; n % d; d++) {}
        if (d == n && i < 8) h[i] = (uint32_t)(fmodl(sqrtl(n), 1) * 0x1p32L);
        if (d == n) k[i++] = (uint32_t)(fmodl(cbrtl(n), 1) * 0x1p32L);
    }
    size_t size = (length + 72) / 64 * 64;
    unsigned char *data = memset(grow(NULL, size), 0, size), *d = memcpy(data, text, length);
    for (size_t b = 0; b < 8; b++) data[size - 1 - b] = (unsigned char)((uint64_t)length * 8 >> 8 * b);
    for (data[length] = 0x80; d < data + size; d += 64) {
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t a = w[(i + 49) % 64], b = w[(i + 62) % 64], e = v[4], c = v[0];
            w[i] = i < 16 ? (uint32_t)d[4*i] << 24 | (uint32_t)d[4*i+1] << 16 | (uint32_t)d[4*i+2] << 8 | d[4*i+3] :
                w[i-16] + w[i-7] + (TURNED(a, 7) ^ TURNED(a, 18) ^ a >> 3) + (TURNED(b, 17) ^ TURNED(b, 19) ^ b >> 10);
            uint32_t x = v[7] + (TURNED(e, 6) ^ TURNED(e, 11) ^ TURNED(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
            uint32_t y = (TURNED(c, 2) ^ TURNED(c, 13) ^ TURNED(c, 22)) + ((c & v[1]) ^ (c & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v), v[4] += x, v[0] = x + y;
        }
        for (int i = 0; i < 8; i++) sprintf(hex + 8 * i, "%08x", (unsigned)(h[i] += v[i]));
    }
    return hex;
}
/* A sequence is an infoset and an action, or the start of a player: 0, 1, ... Its `gain` is the utility after it, weighted
 * by the probabilities of chance and of the other players. */
typedef struct { Number chance, reach[PLAYERS]; int last[PLAYERS]; } Path;
typedef struct { char *label; Json *row; int player, parent, first; Number *odds; } Infoset; static Infoset *sets;
static int players = 2, n_sets, n_sequences = PLAYERS, visited, *order;
static Number *gain, value[PLAYERS];
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void read_row(Json *row) {
    Number rest = ratio(1, 1), *odds = grow(NULL, sizeof(Number) * (size_t)row->n);
    int best = 0;
    for (int a = 0; a < row->n; a++) {
        odds[a] = number(entry(row, row->at[a].key, '"')->text, 1);
        if (!at_most(ratio(0, 1), odds[a])) refuse("a probability of %s is negative", row->key);
        if (a == best || at_most(odds[a], odds[best])) continue;
        best = at_most(odds[best], odds[a]) ? a : (refuse("the largest number of %s cannot be told", row->key), a);
    }
    for (int a = 0; a < row->n; a++) if (a != best) rest = minus(rest, odds[a]);
    if (!row->n || fabsl(minus(rest, odds[best]).lo) > 1e-9L) refuse("the numbers of %s do not sum to 1", row->key);
    odds[best] = rest, sets[n_sets++] = (Infoset){row->key, row, -1, -1, n_sequences, odds}, n_sequences += row->n;
}
static void leaf(Path at, const Number *utility) {
    for (int i = 0; i < players; i++) {
        Number weight = times(at.chance, utility[i]);
        for (int j = 0; j < players; j++) if (j != i) weight = times(weight, at.reach[j]);
        gain[at.last[i]] = add(gain[at.last[i]], weight), value[i] = add(value[i], times(weight, at.reach[i]));
    }
}
static void wins(Path at, int winner, Number chips) { /* The winner is -1 if there is none. */
    Number utility[2] = {ratio(0, 1), ratio(0, 1)};
    if (winner >= 0) utility[winner] = chips, utility[!winner] = minus(ratio(0, 1), chips), leaf(at, utility);
}
static Infoset *decision(Path at, int player, const char *label, int n, const char **actions) {
    Infoset *s = bsearch(&label, sets, (size_t)n_sets, sizeof *sets, by_text);
    int known = s && s->row->n == n;
    for (int a = 0; known && a < n; a++) known = !strcmp(s->row->at[a].key, actions[a]);
    if (!known) refuse("the file has no strategy with the actions of infoset %s", label);
    if (s->player < 0) s->player = player, s->parent = at.last[player], order[visited++] = (int)(s - sets);
    if (s->player != player || s->parent != at.last[player]) refuse("infoset %s is not of perfect recall", label);
    return s;
}
static Path after(Path at, const Infoset *s, int a) {
    return at.reach[s->player] = times(at.reach[s->player], s->odds[a]), at.last[s->player] = s->first + a, at;
}
static Path drawn(Path at, Number odds) { return at.chance = times(at.chance, odds), at; }
/* Refuse a digest of labels with their actions, or with their probabilities, unless `j` has it. */
static void check_digest(Json *j, size_t size, int odds) {
    char hex[65], **lines = grow(NULL, sizeof *lines * (size_t)n_sets), *to = grow(NULL, size), *all = grow(NULL, size);
    for (int k = 0; k < n_sets; to += sprintf(to, "\"]") + 1, k++) {
        to += sprintf(lines[k] = to, "[\"%s", sets[k].label);
        for (Json *cell = sets[k].row->at; cell < sets[k].row->at + sets[k].row->n; cell++)
            to += sprintf(to, "\", \"%s", odds ? cell->text : cell->key);
    }
    qsort(lines, (size_t)n_sets, sizeof *lines, by_text), to = all;
    for (int k = 0; k < n_sets; k++) to += sprintf(to, k ? "\n%s" : "%s", lines[k]);
    if (strcmp(sha256(all, (size_t)(to - all), hex), entry(j, "digest", '"')->text)) refuse("a digest is not %s", hex);
}
/* Take a parameter from `rules` and rename it, so that one that no rules know is left over. */
static Json *rules;
static const char *parameter(const char *name, const char *usual) {
    Json *found = entry(rules, name, 0);
    if (found) found->key = "";
    return !found ? usual : found->text ? found->text : "";
}
static int whole(const char *text, int least) {
    Number x = number(text, 1);
    return x.q == 1 && x.p >= least && x.p <= MOST ? (int)x.p : (refuse("the rules do not allow the number %s", text), 0);
}
/* Kuhn poker is leduc with one round. The player on turn has put in `low` chips, and the other player `high`. */
static int kuhn, ranks, suits, cap, hand[2];
static char *card(char *text, int c) {
    PUT(text, ranks > 13 ? "%d" : "%c", ranks > 13 ? c / suits : "A23456789TJQK"[13 - ranks + c / suits]);
    return kuhn ? text : strncat(text, &"shdc"[c % suits], 1);
}
static void poker(Path at, const char *line, int board, int turn, int raises, int moved, Number low, Number high) {
    char name[TEXT], label[TEXT], more[TEXT], kinds[TEXT];
    const char *actions[3];
    int n = (int)strlen(PUT(kinds, "%s%s", raises ? "fc" : "c", raises < cap ? "r" : ""));
    int x = hand[0] / suits, y = hand[1] / suits, pair = board < 0 ? -1 : board / suits, blank = *line && line[strlen(line) - 1] == ' ';
    for (int a = 0; a < n; a++) actions[a] = kuhn ? (a ? "bet" : "pass") : kinds[a] == 'f' ? "fold" : kinds[a] == 'c' ? "call" : "raise";
    PUT(label, "%s%s%.*s", card(name, hand[turn]), &" "[!*line || kuhn], (int)strlen(line) - blank, line);
    Infoset *s = decision(at, turn, label, n, actions);
    for (int a = 0; a < n; a++) {
        Path to = after(at, s, a);
        PUT(more, "%s%c", line, *actions[a]);
        if (kinds[a] == 'f') wins(to, !turn, low);
        else if (kinds[a] == 'r') poker(to, more, board, !turn, raises + 1, 1, high, add(high, ratio(kuhn ? 1 : board < 0 ? 2 : 4, 1)));
        else if (!moved) poker(to, more, board, !turn, 0, 1, low, high);
        else if (board >= 0 || kuhn) wins(to, x == y ? -1 : x == pair ? 0 : y == pair ? 1 : y > x, high);
        else for (int c = 0; c < ranks * suits; c++)
            if (c != hand[0] && c != hand[1])
                poker(drawn(to, ratio(1, ranks * suits - 2)), PUT(label, "%s/%s ", more, card(name, c)), c, 0, 0, 0, high, high);
    }
}
/* A tree in the format of Gambit: nodes in the order of a walk. Infosets and outcomes are written out once. */
typedef struct { int n; char *label, **actions; Number *numbers; } Entry;
static Entry entries[PLAYERS + 3][MOST + 1]; /* of players, chance, outcomes and players unknown */
static Entry *listed(int kind) {
    Entry *e = &entries[kind][whole(word(), 1)];
    if (skip() != '"') return e;
    Number sum = ratio(0, 1);
    for (e->label = quoted(), e->n = 0, next += skip() == '{'; skip() != '}' && *next; e->n++) {
        e->actions = grow(e->actions, sizeof(char *) * (size_t)(e->n + 1)), e->numbers = grow(e->numbers, sizeof(Number) * (size_t)(e->n + 1));
        if (kind <= PLAYERS) e->actions[e->n] = quoted();
        if (kind >= PLAYERS) sum = add(sum, e->numbers[e->n] = number(word(), 0));
        if (kind == PLAYERS && e->numbers[e->n].lo < 0) sum.lo = INFINITY;
    }
    if (kind == PLAYERS && (sum.lo > 1 || sum.hi < 1)) refuse("chance has no probabilities before %.20s", next);
    return next += *next == '}', e;
}
static void tree(Path at) {
    char kind = *word();
    int player = quoted() && kind == 'p' ? whole(word(), 1) - 1 : kind == 'c' ? PLAYERS : PLAYERS + 1;
    Entry *e = listed(player < players || kind != 'p' ? player : PLAYERS + 2);
    if (kind == 't' && e->n == players) leaf(at, e->numbers);
    else if (!e->n || kind == 't' || strcmp(word(), "0")) refuse("the tree has a node that is not covered before %.20s", next);
    Infoset *s = kind == 'p' ? decision(at, player, e->label, e->n, (const char **)e->actions) : NULL;
    for (int a = 0; a < e->n && kind != 't'; a++) tree(s ? after(at, s, a) : drawn(at, e->numbers[a]));
}
static void play(Json *game) {
    Path root = {.chance = ratio(1, 1)};
    const char *name = entry(game, "name", '"')->text;
    for (int i = 0; i < PLAYERS; i++) root.reach[i] = ratio(1, 1), root.last[i] = i, value[i] = ratio(0, 1);
    rules = entry(game, "parameters", '{'), kuhn = strcmp(name, "leduc") != 0, suits = cap = 1;
    if (!strcmp(name, "efg")) {
        char *to = entry(rules, "text", '"')->text;
        next = parameter("text", ""), players = 0;
        for (const char *from = next; (*to = *from); from++, to++)
            if (*from == '\\' && (*to = *++from == 'n' ? '\n' : *from, !strchr("n\"\\/", *from))) refuse("the tree has the escape %.2s", from - 1);
        if (strcmp(word(), "EFG") || strcmp(word(), "2") || !strchr("RD", *word())) refuse("%.20s is not a tree", next);
        for (quoted(), next += skip() == '{'; skip() == '"' && players < PLAYERS; players++) quoted();
        for (next += *next == '}'; skip() == '"'; ) quoted();
        tree(root);
        if (skip()) refuse("the tree goes on after its end: %.20s", next);
    } else if (!kuhn || !strcmp(name, "kuhn") || !strcmp(name, "one_card_poker")) {
        if (!kuhn) suits = whole(parameter("suits", "2"), 1), cap = whole(parameter("raise_cap", "2"), 0);
        ranks = whole(parameter(kuhn ? "cards" : "ranks", *name == 'o' ? "13" : "3"), 1);
        if (strcmp(parameter("players", "2"), "2") || ranks * suits < 3 - kuhn || ranks * suits > 9999 || suits > 4) refuse("the rules%s do not allow this", "");
        for (int k = 0, n = ranks * suits; k < n * n; k++)
            if ((hand[0] = k / n) != (hand[1] = k % n)) poker(drawn(root, ratio(1, n * (n - 1))), "", -1, 0, 0, 0, ratio(1, 1), ratio(1, 1));
    } else refuse("the game %s is not covered", name);
    for (int k = 0; k < rules->n; k++) if (*rules->at[k].key) refuse("the rules do not know %s", rules->at[k].key);
    for (int k = 0; k < n_sets; k++) if (sets[k].player < 0) refuse("infoset %s is not of the game", sets[k].label);
}
static int proven(Json *claims, const char *name, Number x) {
    Json *ends = entry(claims, name, '[');
    if (ends->n != 2 || !ends->at[0].text || !ends->at[1].text) refuse("the claim of %s is not an interval", name);
    if (x.q) printf("%s: exactly %lld%s%.0lld\n", name, (long long)x.p, &"/"[x.q == 1], x.q > 1 ? (long long)x.q : 0);
    else printf("%s: from %.21Lg to %.21Lg\n", name, nextafterl(x.lo, -INFINITY), nextafterl(x.hi, INFINITY));
    int holds = at_most(number(ends->at[0].text, 0), x) && at_most(x, number(ends->at[1].text, 0));
    return holds || (fprintf(stderr, "refused: the claim of %s is not proven\n", name), 0);
}
int main(int n, char **arguments) {
    FILE *file = n == 2 ? fopen(arguments[1], "rb") : NULL;
    char *text = NULL, label[TEXT], more[TEXT];
    size_t size = 0, got = 1;
    for (; got && file; size += got) text = grow(text, size + 65536), got = fread(text + size, 1, 65536, file);
    if (!file || memchr(text, 0, size)) refuse("give the name of a file of text%s", "");
    Json all = (text[size] = 0, next = text, read_json(0)), *game = entry(&all, "game", '{');
    Json *rows = entry(&all, "strategies", '{'), *claims = entry(&all, "claims", '{');
    if (skip() || strcmp(entry(&all, "format", '"')->text, "tensorcfr certificate 1")) refuse("the format%s is unknown", "");
    sets = grow(NULL, sizeof *sets * (size_t)rows->n), order = grow(NULL, sizeof *order * (size_t)rows->n);
    for (int k = 0; k < rows->n; k++) read_row(entry(rows, rows->at[k].key, '{'));
    qsort(sets, (size_t)n_sets, sizeof *sets, by_text), gain = grow(NULL, sizeof *gain * (size_t)n_sequences);
    for (int k = 0; k < n_sequences; k++) gain[k] = ratio(0, 1);
    check_digest(&all, size, 1), check_digest(game, size, 0), play(game);
    for (Infoset *s; visited-- && (s = sets + order[visited]); ) { /* later infosets first */
        for (int a = 1; a < s->row->n; a++) gain[s->first] = larger(gain[s->first], gain[s->first + a]);
        gain[s->parent] = add(gain[s->parent], gain[s->first]);
    }
    Number sum = ratio(0, 1);
    for (int i = 0; i < players; i++) sum = add(sum, minus(gain[i], value[i]));
    if (all.n != 5 || claims->n != 2 * players + 1) refuse("the file has an entry or a claim%s too many", "");
    int hold = proven(claims, "exploitability", times(sum, ratio(1, players)));
    for (int i = 0; i < players; i++)
        hold &= proven(claims, PUT(label, "value %d", i), value[i]) & proven(claims, PUT(more, "best response %d", i), gain[i]);
    return !hold;
}

