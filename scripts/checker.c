/* Check a certificate of tensorcfr. This program follows docs/certificates.md and shares no code with the checker in
 * Python. One pass over the public tree computes the responses of both players, and one pass over the histories of a tree
 * the payoffs of all sequences. All numbers are whole numbers of up to 640 bits, or fractions of them.
 *
 * Compile it with `cc -std=c11 -O2 -o checker checker.c`, and run `./checker kuhn.cert`. The exit status is 0 if every
 * claim is proven, else 1, with the reason on the standard error. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { LIMBS = 10, PLAYERS = 10, HANDS = 1326, LABEL = 1000, RAISES = 2000 };
__extension__ typedef unsigned __int128 Wide;
typedef struct { uint64_t limb[LIMBS]; } Big; /* in two's complement */
typedef struct { Big n, d; } Ratio;           /* d > 0 */

static void refuse(const char *why, const char *of) {
    fputs("refused: ", stderr), fprintf(stderr, why, of), fputs("\n", stderr), exit(1);
}
static void *grow(void *old, size_t bytes) { return (old = realloc(old, bytes + 1)) ? old : (refuse("no %s", "memory"), old); }

static Big add(Big a, const Big *b) {
    Wide sum = 0;
    for (int k = 0; k < LIMBS; k++) a.limb[k] = (uint64_t)(sum += (Wide)a.limb[k] + b->limb[k]), sum >>= 64;
    return a;
}
static int sign(const Big *a) {
    for (int k = 0; k < LIMBS; k++) if (a->limb[k]) return a->limb[LIMBS - 1] >> 63 ? -1 : 1;
    return 0;
}
static Big whole(int64_t n) {
    Big a;
    for (int k = 0; k < LIMBS; k++) a.limb[k] = k ? (n < 0 ? UINT64_MAX : 0) : (uint64_t)n;
    return a;
}
static Big minus(Big a) {
    Big one = whole(1);
    for (int k = 0; k < LIMBS; k++) a.limb[k] = ~a.limb[k];
    return add(a, &one);
}
static Big less(Big a, Big b) { return b = minus(b), add(a, &b); }
static int bits(Big a) {
    if (sign(&a) < 0) a = minus(a);
    int k = LIMBS;
    while (k && !a.limb[k - 1]) k--;
    return k ? 64 * k - __builtin_clzll(a.limb[k - 1]) : 0;
}
static Big times(Big a, Big b) {
    Big c = whole(0);
    if (bits(a) + bits(b) > LIMBS * 64 - 8) refuse("a number is too long%s", "");
    for (int i = 0; i < LIMBS; i++) {
        Wide sum = 0;
        for (int j = 0; a.limb[i] && i + j < LIMBS; j++)
            c.limb[i + j] = (uint64_t)(sum += (Wide)a.limb[i] * b.limb[j] + c.limb[i + j]), sum >>= 64;
    }
    return c;
}
static Big divide(Big a, Big b, Big *rest) { /* of positive numbers */
    Big q = whole(0), r = q;
    for (int k = bits(a) - 1; k >= 0; k--) {
        r = add(r, &r), r.limb[0] |= a.limb[k / 64] >> k % 64 & 1;
        Big d = less(r, b);
        if (sign(&d) >= 0) r = d, q.limb[k / 64] |= 1ull << k % 64;
    }
    return *rest = r, q;
}
static Ratio simple(Ratio x) {
    Big a = sign(&x.n) < 0 ? minus(x.n) : x.n, b = x.d, rest;
    while (sign(&b)) divide(a, b, &rest), a = b, b = rest;
    int is_negative = sign(&x.n) < 0;
    Big n = divide(is_negative ? minus(x.n) : x.n, a, &rest);
    return (Ratio){is_negative ? minus(n) : n, divide(x.d, a, &rest)};
}
static Ratio ratio(Big n, Big d) { return bits(d) > 200 ? simple((Ratio){n, d}) : (Ratio){n, d}; }
static Ratio product(Ratio a, Ratio b) { return ratio(times(a.n, b.n), times(a.d, b.d)); }
static Ratio sum(Ratio a, Ratio b) {
    if (!memcmp(&a.d, &b.d, sizeof a.d)) return (Ratio){add(a.n, &b.n), a.d};
    Big n = times(b.n, a.d);
    return ratio(add(times(a.n, b.d), &n), times(a.d, b.d));
}
static const Ratio ZERO = {{{0}}, {{1}}};
/* Read digits, a fraction, or a decimal. */
static Big digits(const char *s, size_t n) {
    Big a = whole(0), part;
    for (size_t k = 0, m; k < n; k += m) {
        uint64_t value = 0, power = 1;
        for (m = 0; m < 18 && k + m < n; m++, power *= 10) value = value * 10 + (uint64_t)(s[k + m] - '0');
        part = whole((int64_t)value), a = k ? add(times(a, whole((int64_t)power)), &part) : part;
    }
    return a;
}
static Ratio number(const char *s) {
    char text[200];
    size_t n = 0, point = 0, is_negative = *s == '-';
    const char *at = s + (*s == '-');
    for (; isdigit(*at) || (*at == '.' && !point && n); at++)
        if (*at == '.') point = n; else if (n < sizeof text - 1) text[n++] = *at;
    Ratio x = {digits(text, n), whole(1)};
    long power = *at == 'e' ? strtol(at + 1, (char **)&at, 10) : 0;
    if (*at == '/' && n && !point && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1))
        x.d = digits(at + 1, strlen(at + 1)), at += strlen(at);
    if (!n || *at || !sign(&x.d) || labs(power) > 150) refuse("'%.60s' is not a number", s);
    for (power -= point ? (long)(n - point) : 0; power; power += power < 0 ? 1 : -1)
        if (power < 0) x.d = times(x.d, whole(10)); else x.n = times(x.n, whole(10));
    return is_negative ? (Ratio){minus(x.n), x.d} : x;
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
/* Compute the SHA-256 of a text. Its constants are the first 32 bits of the fractions of roots of primes. */
#define TURNED(x, by) ((x) >> (by) | (x) << (32 - (by)))
static uint32_t root(int n, int power) {
    Wide x = 0;
    for (int bit = 36; bit >= 0; bit--) {
        Wide y = x | (Wide)1 << bit;
        if ((power == 2 ? y * y : y * y * y) <= (Wide)n << 32 * power) x = y;
    }
    return (uint32_t)x;
}
static char *sha256(const char *text, size_t length, char hex[65]) {
    uint32_t k[64], h[8], w[64], v[8];
    for (int n = 2, i = 0, d; i < 64; n++) {
        for (d = 2; n % d; d++) {}
        if (d == n && i < 8) h[i] = root(n, 2);
        if (d == n) k[i++] = root(n, 3);
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
/* The rows of the strategies, by label. A sequence of a tree is the start of a player, or an action of a row. */
typedef struct { char *label; Json *at; int player, parent, first; Big **part; } Row;
static Row *rows;
static int n_rows, n_players, n_seen, *order, n_sequences = PLAYERS, n_hands[PLAYERS];
static Ratio value[PLAYERS], best[PLAYERS], *gain;
static Big totals[PLAYERS];
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void *array(size_t n, size_t size) { return memset(grow(NULL, n * size), 0, n * size); }
/* Return the row of a decision, and in parts[a] the weights of all hands after action a. */
static Row *decide(const char *label, int player, int n, char **words, const Big *before, Big **parts) {
    Row *row = bsearch(&label, rows, (size_t)n_rows, sizeof *rows, by_text);
    int same = row && row->at->n == n;
    for (int a = 0; same && a < n; a++) same = !strcmp(row->at->at[a].key, words[a]) && row->at->at[a].type == '"';
    if (!same) refuse("the strategies lack the actions of '%s'", label);
    if (row->player >= 0 && row->player != player) refuse("infoset %s has two players", label);
    if (row->player < 0) order[n_seen++] = (int)(row - rows), row->player = player;
    for (int a = 0; a < n; a++) {
        const char *s = row->at->at[a].text;
        parts[a] = array((size_t)n_hands[player], sizeof(Big));
        for (int h = 0; h < n_hands[player]; h++) {
            size_t length = strspn(s, "0123456789");
            if (!length || s[length] != (h + 1 < n_hands[player] ? ' ' : 0)) refuse("'%s' lacks weights of hands", label);
            parts[a][h] = digits(s, length), s += length + 1;
        }
    }
    for (int h = 0; h < n_hands[player]; h++) {
        Big left = before[h];
        for (int a = 0; a < n; a++) left = less(left, parts[a][h]);
        if (sign(&left)) refuse("the weights at '%s' do not sum to those before", label);
    }
    return row;
}
/* Games of two hands: bets, or bids on dice. */
typedef struct { char label[LABEL]; int64_t paid[2], outcomes, copies; int player, acted, raised, winner, n_dealt, dealt[2]; } State;
static struct {
    int rounds, size, suits, cards, cap[3], straight[3], dice[2], n_bids, faces, wild, bid_faces, n_orders;
    int64_t stack, bet[3], pot, no_limit;
    uint64_t board, dead, hand[2][HANDS];
    Big chance[2][HANDS], unit;
    Ratio chip, rake, rake_cap;
    char name[64][4];
    Json *bets;
    struct { int card[64], image[2][HANDS]; } orders[24];
} game;
static int count_bits(uint64_t x) { int n = 0; for (; x; x &= x - 1) n++; return n; }
static long rate(uint64_t cards) {
    int ranks = game.cards / game.suits, count[16] = {0}, place[16], groups = 0, flush = 0, n = game.size, key[5] = {0};
    for (int c = 0; c < game.cards; c++) if (cards >> c & 1) count[c / game.suits]++;
    for (int k = n; k; k--) for (int r = ranks - 1; r >= 0; r--) if (count[r] == k) place[groups] = r, key[groups++] = k;
    for (int suit = 0; suit < game.suits; suit++) {
        int of_suit = 0;
        for (int c = suit; c < game.cards; c += game.suits) of_suit += (int)(cards >> c & 1);
        flush |= of_suit == n;
    }
    int wheel = groups == n && place[0] == ranks - 1 && place[1] == n - 2 && game.straight[0];
    if (wheel) memmove(place, place + 1, sizeof(int) * (size_t)(n - 1)), place[n - 1] = -1;
    int straight = groups == n && place[0] - place[n - 1] == n - 1;
    long rating = 0;
    for (int k = 0; k < 5; k++) rating = rating * 8 + key[k];
    if (game.straight[0] && (flush || straight)) rating = game.straight[2 * flush + straight - 1];
    for (int k = 0; k < 5; k++) rating = rating * 16 + (k < groups ? place[k] + 1 : 0);
    return rating;
}
static long best_of(uint64_t cards, uint64_t chosen, int n) { /* Choose more cards, up to n. */
    if (!n) return rate(chosen);
    long best = -1;
    for (; count_bits(cards) >= n; cards &= cards - 1) {
        long rating = best_of(cards & (cards - 1), chosen | (cards & -cards), n - 1);
        if (rating > best) best = rating;
    }
    return best;
}

static int shown(int p, int hand, int face) { /* Count the dice of a face, wild ones too. */
    int n = 0;
    for (int k = 0; k < game.dice[p]; k++, hand /= game.faces)
        n += hand % game.faces + 1 == face || (game.wild && hand % game.faces + 1 == game.faces);
    return n;
}
static void end_hand(const State *s, Big *x[2], Big *out[2]) { /* Compute the values of the end of the game. */
    Big won[3] = {whole(-1), whole(0), whole(1)}, half = whole(2);
    uint64_t board = game.board;
    static long rating[2][HANDS];
    for (int k = 0; k < s->n_dealt; k++) board |= 1ull << s->dealt[k];
    if (!game.n_bids) {
        Ratio pot = product(game.chip, (Ratio){whole(game.pot + 2 * s->paid[s->paid[1] < s->paid[0]]), whole(1)});
        Ratio rake = product(pot, game.rake), over = sum(rake, (Ratio){minus(game.rake_cap.n), game.rake_cap.d});
        if (sign(&over.n) > 0) rake = game.rake_cap;
        Ratio loss = {minus(pot.n), times(pot.d, half)}, draw = {minus(rake.n), times(rake.d, half)};
        Ratio pays[3] = {loss, draw, sum((Ratio){pot.n, loss.d}, (Ratio){minus(rake.n), rake.d})};
        for (int k = 0; k < 3; k++) won[k] = simple((Ratio){times(pays[k].n, game.unit), pays[k].d}).n;
    }
    for (int p = 0; p < 2; p++) for (int h = 0; h < n_hands[p] && s->winner < 0; h++)
        rating[p][h] = game.n_bids ? shown(p, h, (s->raised - 1) % game.bid_faces + 1) :
            game.hand[p][h] & board ? 0 : best_of(game.hand[p][h] | board, 0, game.size);
    for (int p = 0; p < 2; p++) {
        Big *reach = array((size_t)n_hands[!p], sizeof(Big)), term;
        for (int j = 0; j < n_hands[!p]; j++) reach[j] = times(x[!p][j], game.chance[!p][j]);
        for (int i = 0; i < n_hands[p]; i++) {
            Big met[3] = {{{0}}, {{0}}, {{0}}}, total = whole(0);
            for (int j = 0; j < n_hands[!p]; j++) {
                uint64_t mine = game.hand[p][i], other = game.hand[!p][j];
                long a = rating[p][i], b = rating[!p][j];
                if (mine & other || (mine | other) & board) continue;
                int is_true = game.n_bids && a + b > (s->raised - 1) / game.bid_faces;
                int result = s->winner >= 0 ? 2 * (s->winner == p) : game.n_bids ? 2 * (is_true == (s->player != p)) : 1 + (a > b) - (a < b);
                met[result] = add(met[result], &reach[j]);
            }
            for (int k = 0; k < 3; k++) term = times(met[k], won[k]), total = add(total, &term);
            out[p][i] = times(times(total, game.chance[p][i]), whole(s->outcomes));
            term = times(times(out[p][i], x[p][i]), whole(s->copies)), value[p].n = add(value[p].n, &term);
        }
        free(reach);
    }
}
static void visit(const State *s, Big *x[2], Big *out[2]);
static void deal(const State *s, Big *x[2], Big *out[2]) {
    int valid[24], n = 0, left = game.cards - count_bits(game.board | game.dead) - s->n_dealt;
    left -= count_bits(game.hand[0][0]) + count_bits(game.hand[1][0]);
    for (int k = 0; k < game.n_orders; k++) {
        int keeps = 1;
        for (int d = 0; d < s->n_dealt; d++) keeps &= game.orders[k].card[s->dealt[d]] == s->dealt[d];
        if (keeps) valid[n++] = k;
    }
    for (int first = 0; first < game.cards; first++) {
        int by[64], copies = 0; /* the order that maps each card to this one, if it is the first of its images */
        for (int c = 0; c < game.cards; c++) {
            int best = 64, k = 0;
            for (int v = 0; v < n; v++) if (game.orders[valid[v]].card[c] < best) best = game.orders[k = valid[v]].card[c];
            by[c] = best == first ? k : -1, copies += best == first;
            for (int d = 0; d < s->n_dealt; d++) if (s->dealt[d] == c) by[c] = -1;
        }
        if (by[first] < 0 || (game.board | game.dead) >> first & 1) continue;
        State t = {.outcomes = s->outcomes / left, .copies = s->copies * copies, .n_dealt = s->n_dealt + 1, .winner = -1};
        t.paid[0] = s->paid[0], t.paid[1] = s->paid[1], t.dealt[0] = s->dealt[0], t.dealt[s->n_dealt] = first;
        snprintf(t.label, LABEL, "%s%s%s", s->label, *s->label ? " " : "", game.name[first]);
        Big *below[2] = {array(HANDS, sizeof(Big)), array(HANDS, sizeof(Big))};
        visit(&t, x, below);
        for (int c = 0; c < game.cards; c++) for (int p = 0; by[c] >= 0 && p < 2; p++) for (int h = 0; h < n_hands[p]; h++) {
            int image = game.orders[by[c]].image[p][h];
            if (memcmp(&x[p][h], &x[p][image], sizeof(Big))) refuse("the strategies differ between suits%s", "");
            out[p][h] = add(out[p][h], &below[p][image]);
        }
        free(below[0]), free(below[1]);
    }
}
/* List the states after each action, with the words at the end of their labels; none if the bets are over. */
static int list(const State *s, State *to, const char **words) {
    int n = 0, me = s->player;
    int64_t top = s->paid[s->paid[0] < s->paid[1]], mine = s->paid[me], call = top - mine, total[RAISES], raises = 0;
    if (game.n_bids) {
        for (int k = s->raised; k < game.n_bids; k++, n++) {
            to[n] = *s, to[n].raised = k + 1, to[n].player = !me, to[n].acted = 1;
            snprintf(to[n].label, LABEL, "%s%s%dx%d", s->label, s->acted ? " " : "", k / game.bid_faces + 1, k % game.bid_faces + 1);
            words[n] = to[n].label + strlen(s->label) + (s->acted != 0);
        }
        if (s->raised) to[n] = *s, to[n].acted = -1, words[n++] = "liar";
        return n;
    }
    if (top == game.stack && !s->acted) return 0;
    if (game.no_limit) {
        int64_t left = game.stack - mine, least = call < left && left < 2 * call ? left : call ? 2 * call : 1;
        for (; s->acted + 1 < game.no_limit && least <= left && raises < RAISES; least++) total[raises++] = mine + least;
    } else if (game.bets) {
        char line[LABEL] = "", copy[LABEL], *w = strtok(strcpy(copy, s->label), " ");
        for (; w; w = strtok(NULL, " ")) if (strlen(w) != 2 || !isalpha(w[1])) /* not a card */
            sprintf(line + strlen(line), "%s%s", *line ? " " : "", w);
        Json *known = entry(game.bets, line, 0);
        int64_t least = call ? top + call : top + 1;
        for (int k = 0; known && k < known->n && k < RAISES; k++) {
            total[raises++] = atoll(known->at[k].text);
            if (total[k] > game.stack || top >= game.stack || total[k] < (least < game.stack ? least : game.stack)) refuse("'%s' has raises that are not legal", line);
            least = total[k] + 1;
        }
    } else if (s->raised < game.cap[s->n_dealt]) total[raises++] = top + game.bet[s->n_dealt];
    if (call) to[n] = *s, to[n].winner = !me, words[n++] = "fold";
    for (int64_t k = -1; k < raises; k++, n++) {
        to[n] = *s, to[n].player = !me, to[n].acted = k < 0 && s->acted ? -1 : s->acted + 1, to[n].raised += k >= 0;
        to[n].paid[me] = k < 0 ? top : total[k];
        size_t length = strlen(s->label), space = length > 0;
        if (k < 0) snprintf(to[n].label + length, LABEL - length, "%scall", space ? " " : "");
        else snprintf(to[n].label + length, LABEL - length, "%s%lld", space ? " " : "", (long long)total[k]);
        words[n] = to[n].label + length + space;
    }
    return n;
}
static void visit(const State *s, Big *x[2], Big *out[2]) {
    if (s->winner >= 0 || (s->acted < 0 && (game.n_bids || s->n_dealt == game.rounds - 1))) { end_hand(s, x, out); return; }
    if (s->acted < 0) { deal(s, x, out); return; }
    size_t most = game.no_limit || game.bets ? RAISES + 4 : (size_t)game.n_bids + 4;
    State *to = array(most, sizeof *to);
    char **words = array(most, sizeof *words);
    int me = s->player, n = list(s, to, (const char **)words);
    if (!n) *to = *s, to->acted = -1, visit(to, x, out);
    Big **part = array((size_t)n, sizeof *part), *below[2] = {array((size_t)n_hands[0], sizeof(Big)), array((size_t)n_hands[1], sizeof(Big))};
    if (n) decide(s->label, me, n, words, x[me], part);
    for (int a = 0; a < n; free(part[a++])) {
        Big *y[2] = {me ? x[0] : part[a], me ? part[a] : x[1]};
        for (int p = 0; p < 2; p++) memset(below[p], 0, sizeof(Big) * (size_t)n_hands[p]);
        visit(&to[a], y, below);
        for (int p = 0; p < 2; p++) for (int h = 0; h < n_hands[p]; h++) {
            Big more = less(below[p][h], out[p][h]);
            if (p != me) out[p][h] = add(out[p][h], &below[p][h]);
            else if (!a || sign(&more) > 0) out[p][h] = below[p][h];
        }
    }
    free(to), free(words), free(part), free(below[0]), free(below[1]);
}
/* Find the permutations of the suits that preserve the cards and the chances of all hands. */
static void find_orders(int is_symmetric) {
    for (int k = 0, order[4]; k < 256; k++) {
        int kept = 1;
        for (int suit = 0; suit < 4; suit++) order[suit] = k >> (6 - 2 * suit) & 3;
        for (int a = 0; a < 4; a++) for (int b = 0; b < a; b++) kept &= order[a] != order[b];
        if (!kept || (!is_symmetric && k != 27)) continue; /* 27 is the order 0, 1, 2, 3. */
        int *card = game.orders[game.n_orders].card;
        for (int c = 0; c < game.cards; c++) card[c] = is_symmetric ? c / 4 * 4 + order[c % 4] : c;
        uint64_t known[2] = {game.board, game.dead};
        for (int p = 0; p < 2; p++) {
            uint64_t moved = 0;
            for (int c = 0; c < game.cards; c++) if (known[p] >> c & 1) moved |= 1ull << card[c];
            kept &= moved == known[p];
            for (int h = 0; h < n_hands[p] && kept; h++) {
                int image = 0;
                for (moved = 0, kept = 0; image < game.cards; image++) if (game.hand[p][h] >> image & 1) moved |= 1ull << card[image];
                for (image = 0; image < n_hands[p] && game.hand[p][image] != moved; image++) {}
                kept = image < n_hands[p] && !memcmp(&game.chance[p][image], &game.chance[p][h], sizeof(Big));
                game.orders[game.n_orders].image[p][h] = image;
            }
        }
        game.n_orders += kept;
    }
}
/* Trees: one pass over the histories adds up the payoffs after each sequence. */
typedef struct { Ratio chance; Big weight[PLAYERS]; int last[PLAYERS]; } Path;
static void leaf(const Path *at, const Ratio *utility) {
    for (int i = 0; i < n_players; i++) {
        Ratio weight = product(at->chance, utility[i]);
        for (int j = 0; j < n_players; j++) if (j != i) weight.n = times(weight.n, at->weight[j]);
        gain[at->last[i]] = sum(gain[at->last[i]], weight);
        weight.n = times(weight.n, at->weight[i]), value[i] = sum(value[i], weight);
    }
}
static Row *history(const Path *at, int player, const char *label, int n, char **words) {
    Row *row = bsearch(&label, rows, (size_t)n_rows, sizeof *rows, by_text);
    if (player < 0 || player >= n_players) refuse("infoset '%s' has no player", label);
    if (!row || row->player < 0) {
        Big **part = array((size_t)n, sizeof *part);
        row = decide(label, player, n, words, &at->weight[player], part);
        row->part = part, row->parent = at->last[player], row->first = n_sequences, n_sequences += n;
        gain = grow(gain, sizeof *gain * (size_t)n_sequences);
        for (int a = 0; a < n; a++) gain[row->first + a] = ZERO;
    }
    int same = row->player == player && row->parent == at->last[player] && row->at->n == n;
    for (int a = 0; same && a < n; a++) same = !strcmp(row->at->at[a].key, words[a]);
    return same ? row : (refuse("infoset '%s' has imperfect recall, or other actions", label), row);
}
static Path after(Path at, const Row *row, int a) { return at.weight[row->player] = *row->part[a], at.last[row->player] = row->first + a, at; }
static void tree(Path at, Json *node) {
    const char *kind = node->type == '[' && node->n && node->at->type == '"' ? node->at->text : "";
    Ratio total = ZERO, pays[PLAYERS];
    if (!strcmp(kind, "end")) {
        if (node->n != n_players + 1) refuse("a terminal has not one payoff for each %s", "player");
        for (int i = 0; i < n_players; i++) pays[i] = number(node->at[i + 1].text ? node->at[i + 1].text : "");
        leaf(&at, pays);
    } else if (!strcmp(kind, "chance")) {
        for (int k = 1; k < node->n; k++) {
            Json *outcome = &node->at[k];
            if (outcome->type != '[' || outcome->n != 2 || !outcome->at->text) refuse("an outcome has no %s", "probability");
            Path to = at;
            Ratio odds = number(outcome->at->text);
            if (sign(&odds.n) < 0) refuse("chance has the negative probability %s", outcome->at->text);
            total = sum(total, odds), to.chance = product(at.chance, odds), tree(to, &outcome->at[1]);
        }
        total = simple(total);
        if (memcmp(&total.n, &total.d, sizeof(Big))) refuse("the probabilities of a chance node do not sum to %s", "1");
    } else {
        if (strcmp(kind, "act") || node->n != 4 || node->at[3].type != '{' || !node->at[1].text || !node->at[2].text) refuse("'%s' is not a node", kind);
        Json *below = &node->at[3];
        char **words = array((size_t)below->n, sizeof *words);
        for (int a = 0; a < below->n; a++) words[a] = below->at[a].key;
        Row *row = history(&at, atoi(node->at[1].text), node->at[2].text, below->n, words);
        for (int a = 0; a < below->n; a++) tree(after(at, row, a), &below->at[a]);
        free(words);
    }
}
static int prizes, shows_bids, order_of_prizes, payoff; /* Goofspiel: a round is the prize, and both bids. */
static void goofspiel(Path at, int (*round)[3], int n, int is_drawn) {
    int used[3][64] = {{0}}, left[3] = {0}, points[2] = {0};
    for (int k = 0; k < n; k++) for (int c = 0; c < 3; c++) used[c][round[k][c]] = 1;
    for (int c = 0; c < 3; c++) for (int k = 1; k <= prizes; k++) if (!used[c][k]) left[c] = k;
    if (!is_drawn && n == prizes - 1) {
        memcpy(round[n], left, sizeof left);
        for (int k = 0; k <= n; k++) if (round[k][1] != round[k][2]) points[round[k][1] < round[k][2]] += round[k][0];
        Ratio pays[2] = {{whole(points[0]), whole(1)}, {whole(points[1]), whole(1)}};
        int gap = points[0] - points[1];
        for (int p = 0; p < 2 && payoff; p++, gap = -gap) pays[p] = (Ratio){whole(payoff == 1 ? gap : (gap > 0) - (gap < 0)), whole(3 - payoff)};
        leaf(&at, pays);
    } else if (!is_drawn) {
        for (int k = 1, first = 1; k <= prizes; k++) {
            if (used[0][k] || (order_of_prizes == 0 && k != left[0]) || (order_of_prizes == 1 && !first)) continue;
            Path to = at;
            first = 0, round[n][0] = k, round[n][1] = 0;
            if (order_of_prizes == 2) to.chance = product(at.chance, (Ratio){whole(1), whole(prizes - n)});
            goofspiel(to, round, n, 1);
        }
    } else {
        int player = is_drawn - 1, m = 0, bid[64];
        char label[LABEL], *to = label + sprintf(label, "P%d", player), text[64][4], *words[64];
        for (int k = 0; k < n; k++) {
            int mine = round[k][1 + player], other = round[k][2 - player];
            if (shows_bids) to += sprintf(to, " %d:%d,%d", round[k][0], round[k][1], round[k][2]);
            else to += sprintf(to, " %d:%d%c", round[k][0], mine, mine > other ? '+' : mine < other ? '-' : '=');
        }
        sprintf(to, " %d?", round[n][0]);
        for (int k = 1; k <= prizes; k++) if (!used[1 + player][k]) sprintf(words[m] = text[m], "%d", k), bid[m++] = k;
        Row *row = history(&at, player, label, m, words);
        for (int a = 0; a < m; a++) round[n][1 + player] = bid[a], goofspiel(after(at, row, a), round, n + player, player ? 0 : 2);
    }
}
/* Read the rules. Every parameter is taken once, and none may be left over. */
static Json *rules;
static Json *take(const char *key, char type) {
    Json *found = entry(rules, key, type);
    if (!found) refuse("the rules lack the parameter %s", key);
    return found->key = "", found;
}
static int64_t count(const Json *j, int64_t most) {
    char *end;
    int64_t n = j->text && j->type != '"' ? strtoll(j->text, &end, 10) : -1;
    return n < 0 || *end || n > most ? (refuse("'%.40s' is not a number that these rules know", j->text ? j->text : ""), 0) : n;
}
static int flag(const char *key) {
    Json *j = take(key, 0);
    int is_true = j->type == 't';
    return is_true || j->type == 'f' ? is_true : (refuse("%s must be true or false", key), 0);
}
static int word_of(const char *key, const char *words) { /* Return its place among words of which each ends with a blank. */
    char text[100];
    snprintf(text, sizeof text, "%.80s ", take(key, '"')->text);
    const char *found = strstr(words, text);
    int place = found ? 0 : (refuse("'%s' is not known", text), 0);
    for (; words < found; words++) place += *words == ' ';
    return place;
}
static uint64_t cards_of(const char *text) {
    uint64_t cards = 0;
    for (int c; *text; text += 2, cards |= 1ull << c) {
        for (c = 0; c < game.cards && strncmp(game.name[c], text, 2); c++) {}
        if (c == game.cards || cards >> c & 1) refuse("'%s' are not different cards of the deck", text);
    }
    return cards;
}
static void set_deck(const char *ranks, int n, int suits, const char *names) {
    game.suits = suits, game.cards = n * suits;
    if (game.cards > 60) refuse("the deck is too %s", "large");
    for (int c = 0; c < game.cards; c++) {
        if (ranks) sprintf(game.name[c], "%c%c", ranks[c / suits], names[c % suits]);
        else sprintf(game.name[c], "%d%c", c / suits, names[c % suits]);
    }
    for (int p = 0; p < 2; p++) for (int h = n_hands[p] = 0; h < game.cards; h++)
        game.hand[p][h] = 1ull << h, game.chance[p][h] = whole(1), n_hands[p]++;
    game.unit = whole(2), game.chip = (Ratio){whole(1), whole(1)}, game.rake = game.rake_cap = ZERO;
}
static const char *RANKS = "23456789TJQKA", *SUITS = "cdhs";
static int straights(int flush, int straight, int both) { return game.straight[0] = straight, game.straight[1] = flush, game.straight[2] = both; }
static void read_rules(const char *name) {
    int64_t ante = 1, outcomes = 1;
    State root = {.copies = 1, .winner = -1};
    Path start = {.chance = {whole(1), whole(1)}};
    n_players = 2, game.rounds = 2, game.size = 2;
    if (!strcmp(name, "kuhn")) {
        set_deck(NULL, (int)count(take("cards", 0), 60), 1, " "), game.rounds = game.size = game.cap[0] = 1, game.bet[0] = 1;
    } else if (!strcmp(name, "leduc") || !strcmp(name, "nl_leduc")) {
        set_deck(NULL, (int)count(take("ranks", 0), 60), (int)count(take("suits", 0), 4), "shdc");
        if (*name == 'n') {
            game.stack = count(take("stack", 0), RAISES), ante = count(take("ante", 0), game.stack);
            game.no_limit = count(take("cap", 0), 1000);
        } else {
            Json *bets = take("bets", '[');
            game.cap[0] = game.cap[1] = (int)count(take("raise_cap", 0), 100);
            for (int k = 0; k < 2; k++) game.bet[k] = bets->n == 2 ? count(&bets->at[k], 1000000) : (refuse("%s bets are needed", "two"), 0);
        }
    } else if (!strcmp(name, "rhode_island")) {
        Json *caps = take("raises", '[');
        set_deck(RANKS, 13, 4, SUITS), game.rounds = game.size = 3, ante = 5;
        straights(022000, 023000, 040000);
        for (int k = 0; k < 3; k++) game.bet[k] = k ? 20 : 10, game.cap[k] = caps->n == 3 ? (int)count(&caps->at[k], 100) : -1;
    } else if (!strcmp(name, "holdem") || !strcmp(name, "short_deck")) {
        int is_short = *name == 's';
        Json *ranges = take("ranges", '[');
        set_deck(RANKS + 4 * is_short, 13 - 4 * is_short, 4, SUITS), straights(is_short ? 033000 : 031300, 031200, 050000);
        game.board = cards_of(take("board", '"')->text), game.dead = cards_of(take("dead", '"')->text), ante = 0;
        game.rounds = 6 - count_bits(game.board), game.size = 5, game.bets = take("bets", '{');
        game.pot = count(take("pot", 0), 1000000000), game.stack = count(take("stack", 0), 1000000000);
        game.chip = number(take("chip", '"')->text), game.rake = number(take("rake", '"')->text), game.rake_cap = number(take("rake_cap", '"')->text);
        game.unit = times(times(whole(2), game.chip.d), times(game.rake.d, game.rake_cap.d));
        if (game.rounds < 1 || game.board & game.dead || ranges->n != 2) refuse("the board or the %s are wrong", "ranges");
        for (int p = 0; p < 2; p++) for (int h = n_hands[p] = 0; h < ranges->at[p].n; h++) {
            Json *hand = &ranges->at[p].at[h];
            uint64_t cards = game.hand[p][h] = cards_of(hand->key);
            for (int k = 0; k < h; k++) if (game.hand[p][k] == cards) refuse("the hand %s comes twice", hand->key);
            if (++n_hands[p] > HANDS || count_bits(cards) != 2 || cards & (game.board | game.dead)) refuse("the hand %s cannot be dealt", hand->key);
            game.chance[p][h] = hand->text && isdigit(*hand->text) ? number(hand->text).n : ZERO.n;
            if (!sign(&game.chance[p][h])) refuse("the hand %s has no weight", hand->key);
        }
    } else if (!strcmp(name, "liars_dice")) {
        Json *dice = take("dice", '[');
        game.faces = (int)count(take("faces", 0), 50), game.wild = flag("wild"), game.bid_faces = game.faces - !flag("bid_wild");
        for (int p = 0; p < 2; p++) {
            n_hands[p] = 1, game.dice[p] = dice->n == 2 ? (int)count(&dice->at[p], 20) : (refuse("two numbers of %s are needed", "dice"), 0);
            for (int k = 0; k < game.dice[p]; k++) n_hands[p] = n_hands[p] * game.faces > HANDS ? (refuse("there are too many %s", "dice"), 0) : n_hands[p] * game.faces;
            for (int h = 0; h < n_hands[p]; h++) game.chance[p][h] = whole(1);
        }
        game.n_bids = (game.dice[0] + game.dice[1]) * game.bid_faces, game.unit = whole(1);
    } else if (!strcmp(name, "goofspiel") || !strcmp(name, "tree")) {
        int (*round)[3] = array(64, sizeof *round), is_tree = *name == 't';
        if (is_tree) n_players = (int)count(take("players", 0), PLAYERS);
        else {
            prizes = (int)count(take("cards", 0), 60), shows_bids = !flag("imperfect_information");
            order_of_prizes = word_of("prizes", "descending ascending random "), payoff = word_of("payoff", "total_points point_difference win_loss ");
        }
        for (int p = 0; p < n_players; p++) n_hands[p] = 1, start.weight[p] = totals[p], start.last[p] = p;
        if (is_tree) tree(start, take("tree", '[')); else goofspiel(start, round, 0, 0);
        for (int p = 0; p < n_players; p++) best[p] = ZERO;
        for (int k = n_seen - 1; k >= 0; k--) {
            Row *row = &rows[order[k]];
            Ratio top = gain[row->first];
            for (int a = 1; a < row->at->n; a++) {
                Ratio more = sum(gain[row->first + a], (Ratio){minus(top.n), top.d});
                if (sign(&more.n) > 0) top = gain[row->first + a];
            }
            gain[row->parent] = sum(gain[row->parent], top);
        }
        for (int p = 0; p < n_players; p++) best[p] = gain[p];
        return;
    } else refuse("this program does not know the rules of '%s'", name);
    Big deals = whole(0), *x[2], *out[2];
    for (int k = 1, left = game.cards - count_bits(game.board | game.dead) - count_bits(game.hand[0][0]) - count_bits(game.hand[1][0]); k < game.rounds && !game.n_bids; k++)
        outcomes *= left - k + 1;
    find_orders(game.suits == 4 && (game.size == 3 || game.size == 5) && flag("symmetry"));
    for (int p = 0; p < 2; p++) {
        x[p] = array(HANDS, sizeof(Big)), out[p] = array(HANDS, sizeof(Big));
        for (int h = 0; h < n_hands[p]; h++) x[p][h] = totals[p];
    }
    for (int i = 0; i < n_hands[0]; i++) for (int j = 0; j < n_hands[1]; j++) if (!(game.hand[0][i] & game.hand[1][j])) {
        Big both = times(game.chance[0][i], game.chance[1][j]);
        deals = add(deals, &both);
    }
    root.paid[0] = root.paid[1] = ante, root.outcomes = outcomes, visit(&root, x, out);
    for (int p = 0; p < 2; p++) {
        best[p] = (Ratio){whole(0), times(times(deals, whole(outcomes)), game.unit)}, value[p].d = best[p].d;
        for (int h = 0; h < n_hands[p]; h++) best[p].n = add(best[p].n, &out[p][h]);
    }
}
/* Write a number of 0 or more in decimal. */
static char *decimal(Big x) {
    char *text = grow(NULL, 250), *at = text + 249;
    for (*at = 0; sign(&x) || !*at; ) {
        Big rest;
        x = divide(x, whole(10), &rest), *--at = (char)('0' + rest.limb[0]);
    }
    return at;
}
/* Print a fraction, or two decimals of 15 digits around it. */
static void print(const char *key, Ratio x) {
    int is_negative = sign(&x.n) < 0, exponent = 0, up = 0;
    Big n = is_negative ? minus(x.n) : x.n, d = x.d, one = whole(1);
    char *above = decimal(n), *below = decimal(d);
    int is_whole = !memcmp(&d, &one, sizeof d);
    if (is_negative + strlen(above) + (is_whole ? 0 : 1 + strlen(below)) < 40) {
        printf("%s: exactly %s%s%s%s\n", key, is_negative ? "-" : "", above, is_whole ? "" : "/", is_whole ? "" : below);
        return;
    }
    for (Big gap = less(n, d); sign(&gap) < 0; gap = less(n, d)) n = times(n, whole(10)), exponent--;
    for (Big ten = times(d, whole(10)), gap = less(n, ten); sign(&gap) >= 0; ten = times(d, whole(10)), gap = less(n, ten)) d = ten, exponent++;
    int64_t digits = 0;
    for (int k = 0; k < 15; k++) digits = digits * 10 + (int64_t)divide(n, d, &n).limb[0], n = times(n, whole(10));
    up = sign(&n) != 0;
    for (int side = 0; side < 2; side++) {
        int64_t end = digits + (is_negative == !side) * up, power = exponent;
        if (end >= 1000000000000000) end /= 10, power++;
        printf(side ? " to " : "%s: from ", key);
        printf("%s%lld.%014llde%+lld", is_negative ? "-" : "", (long long)(end / 100000000000000), (long long)(end % 100000000000000), (long long)power);
    }
    puts("");
}
static void check_digest(const char *known, int is_of_weights) { /* of labels with their actions, or with their weights */
    char hex[65], **lines = array((size_t)n_rows, sizeof *lines), *all, *to;
    size_t size = 1;
    for (int k = 0; k < n_rows; k++) {
        Json *cells = rows[k].at;
        size_t length = strlen(rows[k].label) + 5;
        for (int a = 0; a < cells->n; a++) length += strlen(is_of_weights ? cells->at[a].text : cells->at[a].key) + 4;
        lines[k] = grow(NULL, length), size += length, to = lines[k] + sprintf(lines[k], "[\"%s\"", rows[k].label);
        for (int a = 0; a < cells->n; a++) to += sprintf(to, ", \"%s\"", is_of_weights ? cells->at[a].text : cells->at[a].key);
        strcpy(to, "]");
    }
    qsort(lines, (size_t)n_rows, sizeof *lines, by_text), all = to = grow(NULL, size);
    for (int k = 0; k < n_rows; free(lines[k++])) to += sprintf(to, k ? "\n%s" : "%s", lines[k]);
    if (strcmp(sha256(all, (size_t)(to - all), hex), known)) refuse("a digest is not %s", hex);
    free(all), free(lines);
}
int main(int count_of_words, char **words) {
    FILE *file = count_of_words == 2 ? fopen(words[1], "rb") : NULL;
    size_t size = 0, more;
    char *text = NULL;
    if (!file) refuse("the file cannot be read: %s", count_of_words == 2 ? words[1] : "name one");
    do text = grow(text, size + (1 << 20)), size += more = fread(text + size, 1, 1 << 20, file); while (more);
    text[size] = 0, next = text;
    Json all = read_json(0), *about = entry(&all, "game", '{'), *strategies = entry(&all, "strategies", '{');
    Json *claims = entry(&all, "claims", '{'), *known = entry(&all, "totals", '[');
    if (skip() || strlen(text) != size || all.n != 6 || about->n != 3) refuse("there is more in the file%s", "");
    if (strcmp(entry(&all, "format", '"')->text, "tensorcfr certificate 2")) refuse("the format is not %s", "tensorcfr certificate 2");
    rules = entry(about, "parameters", '{'), n_rows = strategies->n, rows = array((size_t)n_rows, sizeof *rows), order = array((size_t)n_rows, sizeof *order);
    for (int k = 0; k < n_rows; k++) {
        if (strategies->at[k].type != '{') refuse("the infoset '%s' has no actions", strategies->at[k].key);
        rows[k] = (Row){.label = strategies->at[k].key, .at = &strategies->at[k], .player = -1};
        for (int a = 0; a < rows[k].at->n; a++) if (rows[k].at->at[a].type != '"') refuse("the weights at '%s' are not texts", rows[k].label);
    }
    qsort(rows, (size_t)n_rows, sizeof *rows, by_text);
    for (int k = 1; k < n_rows; k++) if (!strcmp(rows[k - 1].label, rows[k].label)) refuse("the infoset '%s' comes twice", rows[k].label);
    check_digest(entry(&all, "digest", '"')->text, 1);
    for (int p = 0; p < known->n && p < PLAYERS; p++) totals[p] = known->at[p].text ? number(known->at[p].text).n : ZERO.n;
    for (int p = 0; p < PLAYERS; p++) value[p] = ZERO;
    gain = array(PLAYERS, sizeof *gain);
    for (int p = 0; p < PLAYERS; p++) gain[p] = ZERO;
    read_rules(entry(about, "name", '"')->text);
    if (known->n != n_players) refuse("there must be a total of each %s", "player");
    for (int k = 0; k < rules->n; k++) if (*rules->at[k].key) refuse("the rules have no parameter %s", rules->at[k].key);
    for (int k = 0; k < n_rows; k++) if (rows[k].player < 0) refuse("the game has no infoset '%s'", rows[k].label);
    check_digest(entry(about, "digest", '"')->text, 0);
    Ratio proven[2 * PLAYERS + 1] = {ZERO};
    char names[2 * PLAYERS + 1][30] = {"exploitability"};
    for (int p = 0; p < n_players; p++) {
        Ratio *v = &proven[2 * p + 1], *b = v + 1, share = {whole(1), whole(n_players)};
        for (int q = 0; q < n_players; q++) {
            value[p] = simple((Ratio){value[p].n, times(value[p].d, totals[q])});
            if (q != p) best[p] = simple((Ratio){best[p].n, times(best[p].d, totals[q])});
        }
        *v = value[p], *b = best[p], sprintf(names[2 * p + 1], "value %d", p), sprintf(names[2 * p + 2], "best response %d", p);
        proven[0] = simple(sum(proven[0], product(share, sum(*b, (Ratio){minus(v->n), v->d}))));
    }
    if (claims->n != 2 * n_players + 1) refuse("the claims are not about the exploitability, and the value and the best response of each %s", "player");
    for (int k = 0; k < claims->n; k++) {
        Json *ends = entry(claims, names[k], '[');
        for (int side = 0; side < 2; side++) {
            Ratio end = ends->n == 2 && ends->at[side].type == '"' ? number(ends->at[side].text) : (refuse("%s has no two ends", names[k]), ZERO);
            Ratio gap = sum(proven[k], (Ratio){minus(end.n), end.d});
            if (sign(&gap.n) == (side ? 1 : -1)) print(names[k], proven[k]), refuse("%s is not within the claim", names[k]);
        }
    }
    for (int k = 0; k < claims->n; k++) print(names[k], proven[k]);
    return 0;
}
