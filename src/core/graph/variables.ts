import type { Constraints } from './methodology.js';

/** Only these four begin a variable: `$f` and `$MISSING` in a command are the shell's own. */
const VARIABLE = /\$(tools|thresholds|standards|architecture)((?:\.\w+)+)/g;
const WHOLE = /^\$(tools|thresholds|standards|architecture)(\.\w+)+$/;
const TEXT_LENGTH_MAX = 64 * 1024;
const SUBSTITUTIONS_MAX = 1000;
/** What a tool may leave out: it is then called without arguments, and its exit code says all. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['args', 'pass_criterion']);

/** Where a person writes what is missing. */
export const CONSTRAINTS_FILE = '.ai-workspace/context/project_constraints.yml';

type Prefix = 'tools' | 'thresholds' | 'standards' | 'architecture';

export const isVariable = (text: string): boolean => WHOLE.test(text);

export type Resolved =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly says: string };

/** The text with every variable replaced by what the constraints say, and the variables in that as well. */
export function resolveVariables(text: string, constraints: Constraints): Resolved {
  try {
    return { ok: true, text: new Resolver(constraints).resolve(text, []).trim() };
  } catch (error) {
    if (error instanceof Unresolved) return { ok: false, says: error.message };
    throw error;
  }
}

class Unresolved extends Error {}

class Resolver {
  #substitutions = 0;

  constructor(private readonly constraints: Constraints) {}

  resolve(text: string, within: readonly string[]): string {
    const resolved = text.replace(VARIABLE, (name, prefix: Prefix, path: string) => {
      this.#substitutions += 1;
      if (within.includes(name)) throw new Unresolved(`${[...within, name].join(' → ')} goes in a circle.`);
      if (this.#substitutions > SUBSTITUTIONS_MAX)
        throw new Unresolved(`${name} stands for too many others.`);
      return this.resolve(this.#valueOf(name, prefix, path.slice(1).split('.')), [...within, name]);
    });
    if (resolved.length > TEXT_LENGTH_MAX) throw new Unresolved('What its variables stand for is too long.');
    return resolved;
  }

  #valueOf(name: string, prefix: Prefix, path: readonly string[]): string {
    let value: unknown = this.constraints[prefix];
    for (const [at, step] of path.entries()) {
      const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
      value = inside ? (value as Record<string, unknown>)[step] : undefined;
      // A tool that is there may say nothing of its arguments; one that is not there is not.
      const may_be_absent = inside || (at > 0 && at === path.length - 1 && MAY_BE_EMPTY.has(step));
      if (!may_be_absent) throw new Unresolved(`${name} is not said in ${CONSTRAINTS_FILE}.`);
    }
    const said = value ?? '';
    if (typeof said === 'object') throw new Unresolved(`${name} is not a single value.`);
    if (said === '' && !MAY_BE_EMPTY.has(path.at(-1) ?? '')) {
      throw new Unresolved(`${name} is empty in ${CONSTRAINTS_FILE}.`);
    }
    return String(said);
  }
}
