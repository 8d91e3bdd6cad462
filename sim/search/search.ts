import type { DecisionContext, SubjectCommand } from '../../src/core/claims/commands.js';
import { decide } from '../../src/core/claims/decide.js';
import { emptyHead, type Head } from '../../src/core/claims/head.js';
import { stateKey } from './canonical.js';
import { checkDecision, checkRecoverable, checkSweeper } from './checks.js';
import { allModels, claimIdOf, PLAIN_CLAIM, type SearchModel, TICK_MS } from './models.js';

interface SearchOptions {
  readonly models?: readonly SearchModel[];
  /** The search stops after this many violations. */
  readonly violations_max?: number;
  /** The search throws if a model has more states than this: then the model itself is faulty. */
  readonly states_max?: number;
}

interface SearchViolation {
  readonly model: string;
  readonly invariant: string;
  readonly message: string;
  /** The commands from the initial state to the violation, the violating one last. */
  readonly trace: readonly string[];
}

interface SearchResult {
  readonly states: number;
  readonly transitions: number;
  readonly violations: readonly SearchViolation[];
  /** How often each code occurred; a code that never occurred was not covered. */
  readonly codes: ReadonlyMap<string, number>;
}

interface SearchState {
  readonly heads: readonly Head[];
  readonly now_ms: number;
  readonly parent: SearchState | null;
  readonly transition: SubjectCommand | 'start' | 'tick';
}

const STATES_MAX = 200_000;

/** Searches all reachable states of every model, breadth first, so that the first trace found is a shortest one. */
export function runSearch(options: SearchOptions = {}): SearchResult {
  const violations: SearchViolation[] = [];
  const codes = new Map<string, number>();
  let states = 0;
  let transitions = 0;
  for (const model of options.models ?? allModels()) {
    const search = new ModelSearch(model, violations, codes, options);
    search.run();
    states += search.states;
    transitions += search.transitions;
  }
  return { states, transitions, violations, codes };
}

class ModelSearch {
  transitions = 0;
  private readonly visitedKeys = new Set<string>();
  private readonly queue: SearchState[] = [];

  constructor(
    private readonly model: SearchModel,
    private readonly violations: SearchViolation[],
    private readonly codes: Map<string, number>,
    private readonly options: SearchOptions,
  ) {}

  get states(): number {
    return this.queue.length;
  }

  run(): void {
    const violationsMax = this.options.violations_max ?? 20;
    this.visit({
      heads: this.model.subjects.map(emptyHead),
      now_ms: TICK_MS,
      parent: null,
      transition: 'start',
    });
    for (
      let nextIndex = 0;
      nextIndex < this.queue.length && this.violations.length < violationsMax;
      nextIndex++
    ) {
      const state = this.queue[nextIndex] as SearchState;
      this.visit({ ...state, now_ms: state.now_ms + TICK_MS, parent: state, transition: 'tick' });
      this.model.subjects.forEach((_, index) => {
        this.tryAllCommands(state, index);
      });
    }
  }

  private tryAllCommands(state: SearchState, index: number): void {
    const head = state.heads[index] as Head;
    const context: DecisionContext = { now_ms: state.now_ms, rules: this.model.rules, claimIdOf };
    const sweep = decide(head, { type: 'expire' }, context);
    if (this.model.subjects.length === 1) {
      checkRecoverable(head, PLAIN_CLAIM, context, (invariant, message) =>
        this.addViolation(state, PLAIN_CLAIM, invariant, message),
      );
    }
    for (const command of this.model.commands(state.heads, index)) {
      const decision = decide(head, command, context);
      const reportViolation = (invariant: string, message: string): void =>
        this.addViolation(state, command, invariant, message);
      this.transitions++;
      this.codes.set(decision.code, (this.codes.get(decision.code) ?? 0) + 1);
      checkDecision(decision, command, context, reportViolation);
      if (sweep.next !== head) checkSweeper(decision, sweep.next, command, context, reportViolation);
      if (decision.next === head) continue;
      const violation = this.model.violationIn(state.heads, index, decision.next);
      if (violation !== null) reportViolation('INV-19', violation);
      const heads = state.heads.with(index, decision.next);
      this.visit({ heads, now_ms: state.now_ms, parent: state, transition: command });
    }
  }

  private visit(state: SearchState): void {
    const { rules } = this.model;
    const key = state.heads.map((head) => stateKey(head, state.now_ms, rules)).join();
    if (this.visitedKeys.has(key)) return;
    this.visitedKeys.add(key);
    this.queue.push(state);
    if (this.queue.length > (this.options.states_max ?? STATES_MAX)) {
      throw new Error(
        `${this.model.name} has more states than states_max: ${this.queue.length}. Limit the model.`,
      );
    }
  }

  private addViolation(
    state: SearchState,
    command: SubjectCommand,
    invariant: string,
    message: string,
  ): void {
    const trace = [describeTransition(command)];
    for (let ancestor: SearchState | null = state; ancestor !== null; ancestor = ancestor.parent)
      trace.unshift(describeTransition(ancestor.transition));
    this.violations.push({ model: this.model.name, invariant, message, trace });
  }
}

function describeTransition(command: SearchState['transition']): string {
  if (typeof command === 'string') return command;
  const { type, ...fields } = command;
  return `${type} ${JSON.stringify(fields)}`;
}
