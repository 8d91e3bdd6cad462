import type { ClaimsCommand, Context } from '../../src/core/claims/commands.js';
import { decide } from '../../src/core/claims/decide.js';
import { emptyHead, type Head } from '../../src/core/claims/head.js';
import { stateKey } from './canonical.js';
import { checkDecision, checkSweeper, checkWayOut } from './checks.js';
import { allWorlds, claimIdOf, PLAIN_CLAIM, TICK_MS, type World } from './world.js';

export interface SearchOptions {
  readonly worlds?: readonly World[];
  /** The search gives up looking for more after so many. */
  readonly violations_max?: number;
  /** A world with more states than this is a mistake in its making. */
  readonly states_max?: number;
}

export interface SearchViolation {
  readonly world: string;
  readonly invariant: string;
  readonly says: string;
  /** The commands that lead there from the beginning, the offending one last. */
  readonly trace: readonly string[];
}

export interface SearchResult {
  readonly states: number;
  readonly transitions: number;
  readonly violations: readonly SearchViolation[];
  /** How often each answer was given: what was never answered was never searched. */
  readonly codes: ReadonlyMap<string, number>;
}

interface State {
  readonly heads: readonly Head[];
  readonly now_ms: number;
  readonly parent: State | null;
  readonly by: ClaimsCommand | 'start' | 'tick';
}

const STATES_MAX = 200_000;

/** Every state that can be reached in every world, breadth first, so that the first trace found is a shortest one. */
export function runSearch(options: SearchOptions = {}): SearchResult {
  const violations: SearchViolation[] = [];
  const codes = new Map<string, number>();
  let states = 0;
  let transitions = 0;
  for (const world of options.worlds ?? allWorlds()) {
    const search = new WorldSearch(world, violations, codes, options);
    search.run();
    states += search.states;
    transitions += search.transitions;
  }
  return { states, transitions, violations, codes };
}

class WorldSearch {
  transitions = 0;
  private readonly seen = new Set<string>();
  private readonly queue: State[] = [];

  constructor(
    private readonly world: World,
    private readonly violations: SearchViolation[],
    private readonly codes: Map<string, number>,
    private readonly options: SearchOptions,
  ) {}

  get states(): number {
    return this.queue.length;
  }

  run(): void {
    const violations_max = this.options.violations_max ?? 20;
    this.reach({ heads: this.world.subjects.map(emptyHead), now_ms: TICK_MS, parent: null, by: 'start' });
    for (let next = 0; next < this.queue.length && this.violations.length < violations_max; next++) {
      const state = this.queue[next] as State;
      this.reach({ ...state, now_ms: state.now_ms + TICK_MS, parent: state, by: 'tick' });
      this.world.subjects.forEach((_, index) => {
        this.tryAll(state, index);
      });
    }
  }

  private tryAll(state: State, index: number): void {
    const head = state.heads[index] as Head;
    const ctx: Context = { now_ms: state.now_ms, rules: this.world.rules, claimIdOf };
    const sweep = decide(head, { type: 'expire' }, ctx);
    if (this.world.subjects.length === 1) {
      checkWayOut(head, PLAIN_CLAIM, ctx, (invariant, says) =>
        this.report(state, PLAIN_CLAIM, invariant, says),
      );
    }
    for (const command of this.world.commands(state.heads, index)) {
      const decision = decide(head, command, ctx);
      const say = (invariant: string, says: string): void => this.report(state, command, invariant, says);
      this.transitions++;
      this.codes.set(decision.code, (this.codes.get(decision.code) ?? 0) + 1);
      checkDecision(decision, command, ctx, say);
      if (sweep.next !== head) checkSweeper(decision, sweep.next, command, ctx, say);
      if (decision.next === head) continue;
      const wrong = this.world.wrong(state.heads, index, decision.next);
      if (wrong !== null) say('INV-19', wrong);
      const heads = state.heads.with(index, decision.next);
      this.reach({ heads, now_ms: state.now_ms, parent: state, by: command });
    }
  }

  private reach(state: State): void {
    const { rules } = this.world;
    const key = state.heads.map((head) => stateKey(head, state.now_ms, rules)).join();
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.queue.push(state);
    if (this.queue.length > (this.options.states_max ?? STATES_MAX)) {
      throw new Error(`${this.world.name} has no end: ${this.queue.length} states and counting`);
    }
  }

  private report(state: State, command: ClaimsCommand, invariant: string, says: string): void {
    const trace = [describe(command)];
    for (let at: State | null = state; at !== null; at = at.parent) trace.unshift(describe(at.by));
    this.violations.push({ world: this.world.name, invariant, says, trace });
  }
}

function describe(command: State['by']): string {
  if (typeof command === 'string') return command;
  const { type, ...rest } = command;
  return `${type} ${JSON.stringify(rest)}`;
}
