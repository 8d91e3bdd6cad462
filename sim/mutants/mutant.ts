import type { Mode } from '../scenario/scenario.js';

/** One fault, put into the code on purpose. */
export interface Mutant {
  readonly name: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file, so that a mutant never silently stops applying. */
  readonly find: string;
  readonly replace: string;
  /** What would go wrong. */
  readonly why: string;
  /** The kind of run that comes by it, where only one does. */
  readonly mode?: Mode;
  /** The tests that must find it, where neither the search nor the simulator comes by. From the root of the repository. */
  readonly tests?: readonly string[];
}

/** The source with the fault in it. Throws where the mutant no longer applies. */
export function mutate(source: string, { name, file, find, replace }: Mutant): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(
      `${name}: its text occurs ${parts.length - 1} times in ${file} and must occur once. Write its \`find\` anew.`,
    );
  }
  return parts.join(replace);
}
