"use strict";
// The turns that are kept, newest last: at most so many, of so many calls each, and no more calls than that in all. What is
// pinned stays until it is let go; even that is bounded.

const MOST_TURNS = 40;
const MOST_PINNED = 5;
const MOST_CALLS_OF_TURN = 24;
const MOST_CALLS = 240;

class Turns {
  constructor() {
    this.kept = new Map(); // key → turn, in the order in which they began
    this.arrived = 0; // calls, ever
    this.calls = 0; // calls, kept
    this.begun = 0;
  }

  add(call) {
    this.arrived += 1;
    const key = call.turn === "no turn" ? `call ${this.arrived}` : call.turn;
    let turn = this.kept.get(key);
    if (!turn) {
      this.begun += 1;
      turn = { key, name: call.turn, session: call.session, user: call.user, budget: call.budget, calls: [], missed: 0, pinned: false, number: this.begun };
      this.kept.set(key, turn);
    }
    if (turn.calls.length >= MOST_CALLS_OF_TURN) turn.missed += 1;
    else {
      turn.calls.push(call);
      this.calls += 1;
    }
    this.forget(turn);
  }

  forget(but) {
    for (const turn of this.kept.values()) {
      if (this.kept.size <= MOST_TURNS && this.calls <= MOST_CALLS) return;
      if (!turn.pinned && turn !== but) this.drop(turn);
    }
  }

  drop(turn) {
    this.kept.delete(turn.key);
    this.calls -= turn.calls.length;
  }

  /** Holds a turn at the top, or lets it go. Of too many the oldest is let go. */
  pin(turn) {
    turn.pinned = !turn.pinned;
    if (!this.kept.has(turn.key)) { // shown while held, and gone since
      this.kept.set(turn.key, turn);
      this.calls += turn.calls.length;
    }
    const pinned = [...this.kept.values()].filter((each) => each.pinned && each !== turn);
    if (turn.pinned && pinned.length >= MOST_PINNED) pinned[0].pinned = false;
    this.forget(turn);
  }

  /** Those to be shown: the pinned first, then the newest. */
  shown(wanted) {
    const some = [...this.kept.values()].filter((turn) => turn.pinned || turn.calls.some(wanted));
    return some.sort((one, other) => Number(other.pinned) - Number(one.pinned) || other.number - one.number);
  }
}

/** Milliseconds that the turn has used up to its last answer; null where no call says when in it it began. */
function usedOf(turn) {
  const ends = turn.calls.filter((call) => call.into !== null).map((call) => call.into + call.took);
  return ends.length ? Math.max(...ends) : null;
}

function leftOf(turn) {
  const left = turn.calls.map((call) => call.left).filter((each) => each !== null);
  return left.length ? Math.min(...left) : null;
}

/** Whether somebody should look at this call. */
function isTrouble(call) {
  return call.source === "error" || call.source === "stale" || call.source === "fallback" || call.degraded.length > 0
    || (call.left !== null && call.left < 100) || call.intervals.some(isBad);
}

/** "bad" where a customer did not get an answer, "warn" where one got less than usual. */
function levelOf(turn) {
  if (turn.calls.some((call) => call.source === "error" && OURS.has(call.outcome))) return "bad";
  return turn.calls.some(isTrouble) ? "warn" : "good";
}
