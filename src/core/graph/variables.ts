import type { ProjectConstraints } from './methodology.js';

/** Only these four begin a variable: `$f` and `$MISSING` in a command are the shell's own. */
const VARIABLE = /\$(tools|thresholds|standards|architecture)((?:\.\w+)+)/g;
const WHOLE_VARIABLE = /^\$(tools|thresholds|standards|architecture)(\.\w+)+$/;
const TEXT_LENGTH_MAX = 64 * 1024;
const SUBSTITUTIONS_MAX = 1000;
/** What a tool may leave out: it is then called without arguments, and its exit code says all. */
const OPTIONAL_KEYS: ReadonlySet<string> = new Set(['args', 'pass_criterion']);

/** Where a person writes what is missing. */
export const CONSTRAINTS_FILE = '.ai-workspace/context/project_constraints.yml';

type VariablePrefix = 'tools' | 'thresholds' | 'standards' | 'architecture';

export const isVariable = (text: string): boolean => WHOLE_VARIABLE.test(text);

export type ResolvedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string };

/** The text with every variable replaced by what the constraints say, and the variables in that as well. */
export function resolveVariables(text: string, constraints: ProjectConstraints): ResolvedText {
  try {
    return { ok: true, text: new VariableResolver(constraints).resolve(text, []).trim() };
  } catch (error) {
    if (error instanceof UnresolvedVariableError) return { ok: false, message: error.message };
    throw error;
  }
}

class UnresolvedVariableError extends Error {}

class VariableResolver {
  #substitutions = 0;

  constructor(private readonly constraints: ProjectConstraints) {}

  resolve(text: string, parents: readonly string[]): string {
    const resolved = text.replace(VARIABLE, (name, prefix: VariablePrefix, path: string) => {
      this.#substitutions += 1;
      if (parents.includes(name))
        throw new UnresolvedVariableError(`${[...parents, name].join(' → ')} goes in a circle.`);
      if (this.#substitutions > SUBSTITUTIONS_MAX)
        throw new UnresolvedVariableError(`${name} stands for too many others.`);
      return this.resolve(this.#valueOf(name, prefix, path.slice(1).split('.')), [...parents, name]);
    });
    if (resolved.length > TEXT_LENGTH_MAX)
      throw new UnresolvedVariableError('What its variables stand for is too long.');
    return resolved;
  }

  #valueOf(name: string, prefix: VariablePrefix, path: readonly string[]): string {
    let value: unknown = this.constraints[prefix];
    for (const [at, step] of path.entries()) {
      const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
      value = inside ? (value as Record<string, unknown>)[step] : undefined;
      // A tool that is there may say nothing of its arguments; one that is not there is not.
      const mayBeAbsent = inside || (at > 0 && at === path.length - 1 && OPTIONAL_KEYS.has(step));
      if (!mayBeAbsent) throw new UnresolvedVariableError(`${name} is not said in ${CONSTRAINTS_FILE}.`);
    }
    const leaf = value ?? '';
    if (typeof leaf === 'object') throw new UnresolvedVariableError(`${name} is not a single value.`);
    if (leaf === '' && !OPTIONAL_KEYS.has(path.at(-1) ?? '')) {
      throw new UnresolvedVariableError(`${name} is empty in ${CONSTRAINTS_FILE}.`);
    }
    return String(leaf);
  }
}
