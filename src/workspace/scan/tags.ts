import { fileKind, type SourceFileKind } from './file-kind.js';
import { KEY_IN_TEXT, withoutVersion } from './req-key.js';
import { type TextFile, type WalkBounds, walkTextFiles } from './walk.js';

/**
 * What a requirement key (`REQ-…`) says about the place where it stands: it is specified or designed there, or the code
 * implements, tests or measures it.
 */
export type TagKind = 'specified' | 'designed' | 'implements' | 'validates' | 'telemetry';

export interface RequirementTag {
  readonly kind: TagKind;
  /** Without its version. */
  readonly key: string;
  readonly file: string;
  readonly line: number;
}

export interface TagScan {
  readonly tags: RequirementTag[];
  /** `is_tagged`: whether it contains a tag, for any key. */
  readonly files: { readonly path: string; readonly kind: SourceFileKind; readonly is_tagged: boolean }[];
  /** The files that were skipped, and why; at most `LEFT_OUT_MAX` of them. */
  readonly left_out: string[];
}

const TAGS_MAX = 100_000;
const LEFT_OUT_MAX = 50;

export async function scanTags(root: string, bounds?: WalkBounds): Promise<TagScan> {
  const scan: TagScan = { tags: [], files: [], left_out: [] };
  const { tags, files, left_out } = scan;
  const onSkipped = (message: string) => {
    if (left_out.length < LEFT_OUT_MAX) left_out.push(message);
  };
  for await (const file of walkTextFiles(root, onSkipped, bounds)) {
    const kind = fileKind(file.path);
    const tagsOfFile = tagsIn(file, kind);
    tags.push(...tagsOfFile);
    files.push({ path: file.path, kind, is_tagged: tagsOfFile.length > 0 });
    if (tags.length > TAGS_MAX) {
      onSkipped(`everything after ${file.path}: the limit of ${TAGS_MAX} keys is reached`);
      break;
    }
  }
  return scan;
}

const ANY_KEY = new RegExp(KEY_IN_TEXT, 'g');
const TAG = /\b(implements|validates)\b[*_`"' ]*:/gi;
const TELEMETRY = new RegExp(`\\breq["']?\\s*[=:]\\s*["'\`](${KEY_IN_TEXT})["'\`]`, 'g');
/** Matches the separators before the first key of a tag and between keys. */
const NEXT_KEY = new RegExp(`[\\s,;*_\`"'&+\\[(]*(?:and\\s+)?(${KEY_IN_TEXT})`, 'y');

/** In specifications and designs every key counts; in code only keys written as a tag. */
export function tagsIn({ path, text }: TextFile, kind: SourceFileKind): RequirementTag[] {
  if (!text.includes('REQ-') || kind === 'prose') return [];
  const tags: RequirementTag[] = [];
  for (const [lineIndex, content] of text.split('\n').entries()) {
    if (!content.includes('REQ-')) continue;
    const addTag = (tag: TagKind, key: string) =>
      tags.push({ kind: tag, key: withoutVersion(key), file: path, line: lineIndex + 1 });
    if (kind === 'specification' || kind === 'design') {
      const tagKind = kind === 'specification' ? 'specified' : 'designed';
      for (const [key] of content.matchAll(ANY_KEY)) addTag(tagKind, key);
    } else {
      for (const { tag, key } of writtenTags(content)) addTag(tag, key);
    }
  }
  return tags;
}

function* writtenTags(line: string): Generator<{ tag: TagKind; key: string }> {
  for (const match of line.matchAll(TAG)) {
    const tag = match[1]?.toLowerCase() as 'implements' | 'validates';
    NEXT_KEY.lastIndex = match.index + match[0].length;
    for (let next = NEXT_KEY.exec(line); next !== null; next = NEXT_KEY.exec(line)) {
      yield { tag, key: next[1] ?? '' };
    }
  }
  for (const [, key = ''] of line.matchAll(TELEMETRY)) yield { tag: 'telemetry', key };
}
