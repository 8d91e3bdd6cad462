import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { engineError } from '../engine-error.js';
import { type FencedText, fenced, fenceMark } from './fence.js';

/** Estimates tokens: about four characters each in English and in code. Other languages have more tokens than that. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / CHARS_PER_TOKEN);
const CHARS_PER_TOKEN = 4;

export interface PromptPiece extends FencedText {
  /** Whether the piece is omitted rather than cut: half a file would mislead. */
  readonly must_be_whole: boolean;
}
export interface PromptSection {
  readonly title: string;
  readonly pieces: readonly PromptPiece[];
}

export interface BuiltPrompt {
  readonly text: string;
  readonly sha256: string;
  /** Estimated. */
  readonly tokens: number;
  /** Labels of the pieces that are omitted or cut. */
  readonly incomplete: readonly string[];
}

const NOTE_LABELS_MAX = 20;
/** Characters that are reserved for the note about omitted text. */
const NOTE_CHARS_MAX = 2000;
/** The minimum length of a shortened text: less would be useless. */
const CUT_CHARS_MIN = 200;

/**
 * Builds a prompt within the budget. The introduction is always there. Sections are in the order of their importance: what
 * comes last is cut first. Everything in a piece is fenced.
 */
export function fitSections(
  introduction: (mark: string) => string,
  sections: readonly PromptSection[],
  tokensMax: number,
): BuiltPrompt {
  const pieces = sections.flatMap((section) => section.pieces);
  const mark = fenceMark(pieces.flatMap(({ label, text }) => [label, text]));
  const head = introduction(mark);
  let charsLeft = tokensMax * CHARS_PER_TOKEN - head.length - NOTE_CHARS_MAX;
  if (charsLeft < 0) {
    throw engineError(
      'failed',
      `A prompt of ${tokensMax} tokens has no room for the task. Raise context.prompt_tokens_max in engine.yml.`,
    );
  }
  const incomplete: string[] = [];
  const paragraphs = [head];
  for (const { title, pieces: sectionPieces } of sections) {
    let heading = `\n## ${title}\n`;
    for (const piece of sectionPieces) {
      const fitted = fitPiece(mark, piece, charsLeft - heading.length - 2);
      if (fitted?.isCut ?? true) incomplete.push(piece.label);
      if (fitted === null) continue;
      for (const paragraph of [heading, fitted.text]) {
        if (paragraph === '') continue;
        paragraphs.push(paragraph);
        charsLeft -= paragraph.length + 1;
      }
      heading = '';
    }
  }
  if (incomplete.length > 0) paragraphs.push(noteOf(incomplete));
  const text = `${paragraphs.join('\n')}\n`;
  return { text, sha256: sha256Hex(text), tokens: estimateTokens(text), incomplete };
}

/** The piece, whole or cut, if possible at the end of a line; null if there is no room for it. */
function fitPiece(
  mark: string,
  piece: PromptPiece,
  charsMax: number,
): { readonly text: string; readonly isCut: boolean } | null {
  const whole = fenced(mark, piece);
  if (whole.length <= charsMax) return { text: whole, isCut: false };
  const cutLabel = `${piece.label} (only the beginning: the rest did not fit)`;
  const textCharsMax = charsMax - fenced(mark, { label: cutLabel, text: '' }).length;
  if (piece.must_be_whole || textCharsMax < CUT_CHARS_MIN) return null;
  const lineEnd = piece.text.lastIndexOf('\n', textCharsMax);
  const text = piece.text.slice(0, lineEnd > 0 ? lineEnd : textCharsMax);
  return { text: fenced(mark, { label: cutLabel, text }), isCut: true };
}

function noteOf(incomplete: readonly string[]): string {
  const labels = incomplete.slice(0, NOTE_LABELS_MAX).map((label) => JSON.stringify(label.slice(0, 64)));
  const more = incomplete.length > NOTE_LABELS_MAX ? ` and ${incomplete.length - NOTE_LABELS_MAX} more` : '';
  return `\nLeft out or cut, because the prompt has a limit: ${labels.join(', ')}${more}.`.slice(
    0,
    NOTE_CHARS_MAX,
  );
}
