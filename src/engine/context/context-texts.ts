import type { EdgePlan } from '../../core/engine/edge-plan.js';
import { CONTEXT_NEEDS, decodeContext, type ListedContextFile } from './context-manifest.js';
import { type Passage, passagesOf } from './passages.js';
import { searchPassages } from './search-passages.js';

interface ContextText {
  /** The path of the file. For a passage its lines follow: `spec/a.md:10-24`. */
  readonly name: string;
  readonly text: string;
}

/**
 * Default maximum of tokens for passages: about the tokens in RAG_THRESHOLD_BYTES of text (load-context.ts). By default,
 * documents that are longer in total are searched for passages and not passed on whole.
 */
export const PASSAGE_TOKENS_MAX = 12_500;
const CHARS_PER_TOKEN = 4;

/** The text that documents are searched for: the feature, the guidance of the edge, and the criteria of its checks. */
export const contextQuery = (
  plan: Pick<EdgePlan, 'feature_id' | 'guidance' | 'checks'>,
  featureTitle: string,
): string =>
  [featureTitle, plan.feature_id, ...plan.checks.map(({ criterion }) => criterion), plan.guidance].join('\n');

/**
 * The context for a prompt, from the most to the least important: configuration, then what the edge requires, recommends,
 * and the rest. A searched document contributes its best passages; all passages together have at most `tokensMax` estimated
 * tokens. Equal arguments give an equal result.
 */
export function contextTexts(
  manifest: Uint8Array,
  query: string,
  tokensMax = PASSAGE_TOKENS_MAX,
): ContextText[] {
  const { files } = decodeContext(manifest);
  const searched = files.filter(({ tier }) => tier === 'searched');
  const passagesByPath = new Map<string, Passage[]>();
  for (const passage of bestPassages(searched, query, tokensMax)) {
    const chosen = passagesByPath.get(passage.path) ?? [];
    passagesByPath.set(passage.path, [...chosen, passage]);
  }
  return CONTEXT_NEEDS.flatMap((need) => files.filter((file) => file.need === need)).flatMap((file) => {
    if (file.tier === 'verbatim') return [{ name: file.path, text: file.text ?? '' }];
    return (passagesByPath.get(file.path) ?? []).sort((a, b) => a.index - b.index).map(passageText);
  });
}

/** Takes the best passages that the limit allows. If no passage matches the query, takes the beginning of each document. */
function bestPassages(files: readonly ListedContextFile[], query: string, tokensMax: number): Passage[] {
  const passagesOfFiles = files.map(({ path, text }) => passagesOf(path, text ?? ''));
  const matches = searchPassages(passagesOfFiles.flat(), query);
  const candidates =
    matches.length > 0 ? matches : passagesOfFiles.flatMap((passages) => passages.slice(0, 1));
  const chosen: Passage[] = [];
  let charsLeft = tokensMax * CHARS_PER_TOKEN;
  for (const passage of candidates) {
    const { name, text } = passageText(passage);
    const length = name.length + text.length;
    if (length > charsLeft) continue;
    charsLeft -= length;
    chosen.push(passage);
  }
  return chosen;
}

function passageText({ path, first_line, last_line, heading, text }: Passage): ContextText {
  const lines = first_line === last_line ? `${first_line}` : `${first_line}-${last_line}`;
  // The heading itself is the first line of the first passage under it.
  const isUnderHeading = heading !== '' && !text.startsWith('#');
  return { name: `${path}:${lines}`, text: isUnderHeading ? `[${heading}]\n${text}` : text };
}
