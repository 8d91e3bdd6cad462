import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashContextFiles } from '../../core/engine/context-hash.js';
import { EngineError } from '../engine-error.js';
import { decodeContext } from './context-manifest.js';
import { contextQuery, contextTexts, PASSAGE_TOKENS_MAX } from './context-texts.js';
import { type ContextFile, type ContextOptions, loadContext, RAG_THRESHOLD_BYTES } from './load-context.js';

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const fileOf = (path: string, content: string | Uint8Array, need?: ContextFile['need']): ContextFile => ({
  path,
  bytes: Buffer.from(content),
  ...(need === undefined ? {} : { need }),
});
const load = (files: readonly ContextFile[], options: Partial<ContextOptions> = {}) =>
  loadContext({ files, ...options });
const namesOf = (manifest: Uint8Array, query = '') => contextTexts(manifest, query).map(({ name }) => name);
const tiersOf = (manifest: Uint8Array) =>
  Object.fromEntries(decodeContext(manifest).files.map(({ path, tier }) => [path, tier]));

/** Unrelated topics. The documents about them are together larger than the default threshold. */
const TOPICS = [
  'invoices',
  'shipping',
  'passwords',
  'inventory',
  'refunds',
  'newsletters',
  'discounts',
  'audits',
];
const sectionOn = (topic: string) =>
  `## About ${topic}\n\nThe system handles ${topic}. ${`Details of ${topic} follow here. `.repeat(40)}\n`;
const LARGE_DOCUMENTS = Array.from({ length: 6 }, (_, at) =>
  fileOf(
    `spec/part-${at}.md`,
    `# Part ${at}\n\n${TOPICS.map((topic) => sectionOn(`${topic}${at}`)).join('\n')}`,
  ),
);

describe('a loaded context', () => {
  // req: ITR-003
  it('has the canonical hash of its files, and lists the hash of each file', () => {
    const files = [
      fileOf('spec/a.md', 'one\r\n'),
      fileOf('docs/cafe\u0301.md', 'x'),
      fileOf('logo.png', Uint8Array.of(0, 255)),
    ];
    const { manifest, context_hash } = load(files);
    const canonical = hashContextFiles(new Map(files.map(({ path, bytes }) => [path, bytes])), sha256);
    expect(context_hash).toBe(canonical.context_hash);
    const { files: listed } = decodeContext(manifest);
    expect(listed.map(({ path, sha256: hash }) => ({ path, sha256: hash }))).toEqual(canonical.entries);
    expect(listed[2]).toMatchObject({
      path: 'spec/a.md',
      sha256: `sha256:${sha256('one\n')}`,
      bytes: 4,
      text: 'one\n',
    });
  });

  it('has the same manifest on every machine: order, line ends and Unicode composition do not matter', () => {
    const here = load([fileOf('a.md', 'one\ntwo'), fileOf('caf\u00e9.md', 'na\u00efve')]);
    const there = load([fileOf('cafe\u0301.md', 'nai\u0308ve'), fileOf('a.md', 'one\r\ntwo')]);
    expect(Buffer.from(there.manifest)).toEqual(Buffer.from(here.manifest));
  });

  it.each([
    [RAG_THRESHOLD_BYTES, undefined, false],
    [RAG_THRESHOLD_BYTES + 1, undefined, true],
    [100, 100, false],
    [101, 100, true],
  ])('with %i bytes of documents and the threshold %s is searched: %s', (bytes, threshold, isSearched) => {
    const first = Math.floor(bytes / 2);
    const files = [
      fileOf('spec/a.md', 'a'.repeat(first)),
      fileOf('docs/adr/b.md', 'b'.repeat(bytes - first)),
    ];
    const loaded = load(files, { rag_threshold_bytes: threshold });
    expect(loaded.is_searched).toBe(isSearched);
    const tier = isSearched ? 'searched' : 'verbatim';
    expect(tiersOf(loaded.manifest)).toEqual({ 'spec/a.md': tier, 'docs/adr/b.md': tier });
  });

  it('passes configuration on whole, however large the documents are, and does not count it', () => {
    const rules = 'x: 1\n'.repeat(20_000);
    const configuration = [
      '.ai-workspace/graph/edges/design_code.yml',
      '.ai-workspace/context/project_constraints.yml',
      '.ai-workspace/engine.yml',
    ].map((path) => fileOf(path, rules));
    expect(load([...configuration, fileOf('spec/a.md', 'a')]).is_searched).toBe(false);
    const { manifest } = load([...configuration, fileOf('.ai-workspace/context/models/api.yml', rules)]);
    expect(tiersOf(manifest)).toEqual({
      '.ai-workspace/graph/edges/design_code.yml': 'verbatim',
      '.ai-workspace/context/project_constraints.yml': 'verbatim',
      '.ai-workspace/engine.yml': 'verbatim',
      '.ai-workspace/context/models/api.yml': 'searched',
    });
    expect(contextTexts(manifest, '').filter(({ text }) => text === rules)).toHaveLength(3);
  });

  it('hashes files that are not text, and never passes them on', () => {
    const { manifest } = load([
      fileOf('logo.png', Uint8Array.of(137, 0, 1)),
      fileOf('latin1.txt', Uint8Array.of(0xe9)),
    ]);
    expect(tiersOf(manifest)).toEqual({ 'logo.png': 'not_text', 'latin1.txt': 'not_text' });
    expect(namesOf(manifest)).toEqual([]);
  });

  it('names required files that were not found', () => {
    const { manifest } = load([], { missing_required: ['adrs'] });
    expect(decodeContext(manifest).missing_required).toEqual(['adrs']);
  });

  it.each([
    [
      'two spellings of a path',
      [fileOf('caf\u00e9', ''), fileOf('cafe\u0301', '')],
      /two files named "caf\u00e9"/,
    ],
    ['too many files', Array.from({ length: 2001 }, (_, at) => fileOf(`${at}`, '')), /limits are 2000 files/],
    ['too many bytes', [fileOf('a', new Uint8Array(16 * 1024 * 1024 + 1))], /context_guidance/],
  ])('is refused for %s', (_, files, reason) => {
    expect(() => load(files)).toThrow(EngineError);
    expect(() => load(files)).toThrow(reason);
  });
});

describe('the context in a prompt', () => {
  it('is whole while it is small, in the order of importance', () => {
    const files = [
      fileOf('a-other.md', 'o'),
      fileOf('b-recommended.md', 'r'),
      fileOf('z-required.md', 'q'),
      fileOf('.ai-workspace/engine.yml', 'c'),
    ].map((file) => ({ ...file, need: (/required|recommended/.exec(file.path)?.[0] ?? 'other') as 'other' }));
    expect(contextTexts(load(files).manifest, 'anything')).toEqual([
      { name: '.ai-workspace/engine.yml', text: 'c' },
      { name: 'z-required.md', text: 'q' },
      { name: 'b-recommended.md', text: 'r' },
      { name: 'a-other.md', text: 'o' },
    ]);
  });

  it.each(['refunds3', 'Shipping5', 'passwords0'])(
    'has the passages about %s, with path and lines',
    (topic) => {
      const { manifest, is_searched } = load(LARGE_DOCUMENTS);
      expect(is_searched).toBe(true);
      const [passage] = contextTexts(manifest, `The feature about ${topic}`, 600);
      const [path = '', lines = ''] = (passage?.name ?? '').split(':');
      expect(path).toBe(`spec/part-${topic.at(-1)}.md`);
      const file = LARGE_DOCUMENTS.find((document) => document.path === path) as ContextFile;
      const [first, last = first] = lines.split('-').map(Number) as [number, number?];
      const cited = Buffer.from(file.bytes)
        .toString()
        .split('\n')
        .slice(first - 1, last)
        .join('\n');
      expect(passage?.text.endsWith(cited)).toBe(true);
      expect(cited.toLowerCase()).toContain(topic.toLowerCase());
    },
  );

  it('finds words of languages that do not separate words', () => {
    const topics = ['\u8fd4\u91d1\u51e6\u7406', '\u5728\u5eab\u7ba1\u7406'];
    const files = topics.map((topic, at) =>
      fileOf(`spec/${at}.md`, `\u3053\u306e\u6587\u66f8\u306f${topic}\u3067\u3059\u3002`),
    );
    const { manifest } = load(files, { rag_threshold_bytes: 1 });
    expect(contextTexts(manifest, `\u65b0\u3057\u3044${topics[1]}`, 12).map(({ name }) => name)).toEqual([
      'spec/1.md:1',
    ]);
  });

  it('has the beginning of each document if nothing matches the query', () => {
    const { manifest } = load(LARGE_DOCUMENTS);
    expect(namesOf(manifest, 'zzz qqq')).toEqual(
      LARGE_DOCUMENTS.map(({ path }) => expect.stringMatching(`^${path}:1`)),
    );
    expect(namesOf(manifest, '')).toEqual(namesOf(manifest, 'zzz qqq'));
  });

  const queries = fc.array(fc.constantFrom(...TOPICS, 'system', 'Part', 'details2', '', 'the'), {
    maxLength: 8,
  });

  it('is the same for the same files in any order and the same query', () => {
    const property = fc.property(
      fc.shuffledSubarray(LARGE_DOCUMENTS, { minLength: 6 }),
      queries,
      (files, words) => {
        const query = words.join(' ');
        const texts = contextTexts(load(files).manifest, query);
        expect(texts).toEqual(contextTexts(load(LARGE_DOCUMENTS).manifest, query));
      },
    );
    fc.assert(property, { numRuns: 15 });
  });

  it('never exceeds its budget, and nearly fills it', () => {
    const property = fc.property(fc.integer({ min: 0, max: 20_000 }), queries, (tokens, words) => {
      const texts = contextTexts(load(LARGE_DOCUMENTS).manifest, words.join(' '), tokens);
      const chars = texts.reduce((sum, { name, text }) => sum + name.length + text.length, 0);
      expect(chars).toBeLessThanOrEqual(tokens * 4);
    });
    fc.assert(property, { numRuns: 25 });
    const texts = contextTexts(load(LARGE_DOCUMENTS).manifest, 'the system handles details');
    const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
    expect(chars).toBeGreaterThan(PASSAGE_TOKENS_MAX * 4 - 4000);
  });

  it('is searched by the feature, the guidance and the criteria of the checks', () => {
    const check = { criterion: 'Refunds are audited' };
    const plan = { feature_id: 'REQ-F-1', guidance: 'Write code', checks: [check] } as unknown as Parameters<
      typeof contextQuery
    >[0];
    const query = contextQuery(plan, 'Pay back');
    for (const text of ['REQ-F-1', 'Write code', 'Refunds are audited', 'Pay back'])
      expect(query).toContain(text);
  });

  it.each(['', '{', '[]', '{"format":2}'])('refuses the manifest %j', (text) => {
    expect(() => contextTexts(Buffer.from(text), '')).toThrow(/The stored context cannot be read/);
  });
});
