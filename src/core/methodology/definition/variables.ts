import type { ProjectConstraints } from './methodology.js';

/** Only these four prefixes start a variable: `$f` and `$MISSING` in a command belong to the shell. */
const VARIABLE = /\$(tools|thresholds|standards|architecture)((?:\.\w+)+)/g;
const WHOLE_VARIABLE = /^\$(tools|thresholds|standards|architecture)(\.\w+)+$/;
const TEXT_LENGTH_MAX = 64 * 1024;
const SUBSTITUTIONS_MAX = 1000;
/** Keys that a tool may omit: it then runs without arguments, and only its exit code counts. */
const OPTIONAL_KEYS: ReadonlySet<string> = new Set(['args', 'pass_criterion']);

/** The file in which a person adds missing values. */
export const CONSTRAINTS_FILE = '.ai-workspace/context/project_constraints.yml';

type VariablePrefix = 'tools' | 'thresholds' | 'standards' | 'architecture';

export const isVariable = (text: string): boolean => WHOLE_VARIABLE.test(text);

type ResolvedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string };

/** Replaces every variable with its value from the constraints, recursively. */
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
        throw new UnresolvedVariableError(`${[...parents, name].join(' → ')} is a cycle.`);
      if (this.#substitutions > SUBSTITUTIONS_MAX)
        throw new UnresolvedVariableError(
          `More than ${SUBSTITUTIONS_MAX} variables would be replaced, counting those in the values of variables; the last is ${name}. Use fewer.`,
        );
      return this.resolve(this.#valueOf(name, prefix, path.slice(1).split('.')), [...parents, name]);
    });
    if (resolved.length > TEXT_LENGTH_MAX)
      throw new UnresolvedVariableError(
        `The text has over ${TEXT_LENGTH_MAX} characters after its variables are replaced. Shorten it, or the values of its variables.`,
      );
    return resolved;
  }

  #valueOf(name: string, prefix: VariablePrefix, path: readonly string[]): string {
    let value: unknown = this.constraints[prefix];
    for (const [index, step] of path.entries()) {
      const isPresent = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
      value = isPresent ? (value as Record<string, unknown>)[step] : undefined;
      // A tool that exists may omit its optional keys; a tool that does not exist is an error.
      const mayBeAbsent = isPresent || (index > 0 && index === path.length - 1 && OPTIONAL_KEYS.has(step));
      if (!mayBeAbsent) throw new UnresolvedVariableError(`${name} is not set in ${CONSTRAINTS_FILE}.`);
    }
    const leaf = value ?? '';
    if (typeof leaf === 'object') throw new UnresolvedVariableError(`${name} is not a single value.`);
    if (leaf === '' && !OPTIONAL_KEYS.has(path.at(-1) ?? '')) {
      throw new UnresolvedVariableError(`${name} is empty in ${CONSTRAINTS_FILE}.`);
    }
    return String(leaf);
  }
}
