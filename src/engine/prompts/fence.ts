import { sha256Hex } from '../../coordinator/runtime/identity.js';

/** Text from outside: a file, a model, a person. */
export interface FencedText {
  /** What the text is, in the words of the engine. */
  readonly label: string;
  readonly text: string;
}

const FENCE_CHARS = 16;

/**
 * A mark that none of the texts contains, derived from all of them: equal texts give equal prompts, and a text cannot end
 * its own fence, because changing the text changes the mark.
 */
export function fenceMark(texts: readonly string[]): string {
  let digest = sha256Hex(texts.map((text) => `${text.length}\n${text}`).join('\n'));
  while (texts.some((text) => text.includes(digest.slice(0, FENCE_CHARS)))) digest = sha256Hex(digest);
  return digest.slice(0, FENCE_CHARS);
}

/** The label is written as JSON, so that a file name cannot start a new line. */
export const fenced = (mark: string, { label, text }: FencedText): string =>
  `<<<${mark} ${JSON.stringify(label)}\n${text}\n${mark}>>>`;
