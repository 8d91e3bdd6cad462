import type { Mode } from '../scenario/scenario.js';

/** A fault deliberately put into the code. */
export interface Mutant {
  readonly name: string;
  /** Relative to the repository root. */
  readonly file: string;
  /** Must occur exactly once in the file, so that a mutant never silently stops applying. */
  readonly find: string;
  readonly replace: string;
  /** What would go wrong. For a random mutant: the code before and after. */
  readonly harm: string;
  /** The only mode that can find the fault, where not every mode can. */
  readonly mode?: Mode;
  /**
   * The tests that must find the fault, where neither the search nor the simulator can. Relative to the repository
   * root.
   */
  readonly tests?: readonly string[];
}

/** Returns the source with the fault in it. Throws if the mutant no longer applies. */
export function mutate(source: string, { name, file, find, replace }: Mutant): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(
      `${name}: its text occurs ${parts.length - 1} times in ${file} and must occur once. Update its \`find\`.`,
    );
  }
  return parts.join(replace);
}
