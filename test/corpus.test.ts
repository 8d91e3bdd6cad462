import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runGen, type TerminalOptions } from '../src/cli/testing/terminal.js';
import { effectiveChecklist } from '../src/core/methodology/definition/checklist.js';
import { parseMethodology } from '../src/core/methodology/definition/read-methodology.js';
import { undecidedDimensions } from '../src/core/methodology/routing/route-state.js';
import { readWorkspaceFiles } from '../src/workspace/read-files.js';
import { Workspace } from '../src/workspace/workspace.js';
import { temporaryFolder } from './support/temporary-folder.js';

interface Expected {
  readonly warnings: readonly string[];
  readonly import: { read: number; unplaced: number; unknown_types: readonly string[] };
  readonly features: Readonly<Record<string, ExpectedFeature>>;
  readonly start: { feature: string | null; edge: string | null };
  readonly claim?: string;
  readonly undecided_dimensions: readonly string[];
}
interface ExpectedFeature {
  readonly converged: readonly string[];
  readonly off_profile: readonly string[];
  readonly status?: string;
  readonly checks_on?: { edge: string; includes: readonly string[] };
}

/** Workspaces that other tools of the family have written. */
const CORPUS = join(import.meta.dirname, 'corpus');
const LOG = '.ai-workspace/events/events.jsonl';
const folders = (await readdir(CORPUS, { withFileTypes: true })).filter((entry) => entry.isDirectory());

async function open(name: string) {
  const cwd = await temporaryFolder();
  const from = join(CORPUS, name);
  await cp(join(from, 'workspace'), join(cwd, '.ai-workspace'), { recursive: true });
  await mkdir(join(cwd, 'specification'));
  await cp(join(from, 'INTENT.md'), join(cwd, 'specification/INTENT.md'));
  const expected = JSON.parse(await readFile(join(from, 'expected.json'), 'utf8')) as Expected;
  const log = (await readFile(join(from, 'workspace/events/events.jsonl'), 'utf8')).trimEnd().split('\n');
  return { terminal: { cwd, env: { GENESIS_AGENT: 'ada' } }, expected, log };
}

const run = async (terminal: TerminalOptions, ...argv: readonly string[]): Promise<string> => {
  const { code, out, err } = await runGen(terminal, ...argv);
  expect(code, `${argv.join(' ')}: ${err}`).toBe(0);
  return out;
};
const json = async (terminal: TerminalOptions, ...argv: readonly string[]) =>
  JSON.parse(await run(terminal, ...argv, '--json'));

test.each(folders.map(({ name }) => name))(
  'each setting of the workspace %s is applied or named in a warning, and no check is lost',
  async (name) => {
    const { terminal, expected } = await open(name);
    const parsed = parseMethodology((await readWorkspaceFiles(new Workspace(terminal.cwd))).files);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    const { methodology, features, warnings } = parsed;
    const texts = warnings
      .map(({ path, message }) => `${path}: ${message}`)
      .filter((text) => !/No file defines the checks of|The profile (?!standard)/.test(text));
    for (const warning of expected.warnings) expect(texts).toContainEqual(expect.stringContaining(warning));
    expect(texts).toHaveLength(expected.warnings.length);
    expect(undecidedDimensions(methodology)).toEqual(expected.undecided_dimensions);
    expect(features.map(({ feature_id }) => feature_id)).toEqual(Object.keys(expected.features));
    for (const feature of features) {
      const { edge = '', includes = [] } = expected.features[feature.feature_id]?.checks_on ?? {};
      const checks = effectiveChecklist(methodology, feature, edge).map((check) => check.name);
      expect(checks).toEqual(expect.arrayContaining([...includes]));
    }
  },
);

test.each(folders.map(({ name }) => name))(
  '%s passes init, import, init, status, start, claim, import again, verify and export',
  async (name) => {
    const { terminal, expected, log } = await open(name);
    const { read, unplaced, unknown_types } = expected.import;
    await run(terminal, 'init');
    const imported = await json(terminal, 'import', '--foreign', LOG);
    expect(imported).toMatchObject({ read, written: read, unplaced_count: unplaced });
    expect(Object.keys(imported.unknown_types)).toEqual(unknown_types);
    await run(terminal, 'init');

    const status = await json(terminal, 'status');
    for (const [id, { converged, off_profile, ...more }] of Object.entries(expected.features)) {
      const feature = status.features.find((each: { id: string }) => each.id === id);
      const done = feature.you_are_here.filter(({ mark }: { mark: string }) => mark === '✓');
      expect(done.map(({ edge }: { edge: string }) => edge)).toEqual(converged);
      expect(feature).toMatchObject({ off_profile, status: more.status ?? 'in_progress' });
    }
    const { code, out } = await runGen(terminal, 'start', '--json');
    expect({ code, ...JSON.parse(out) }).toMatchObject({
      code: expected.start.feature === null ? 3 : 0,
      ...expected.start,
    });

    const { feature, edge } = expected.start;
    const claimed = await json(terminal, 'task', 'claim', expected.claim ?? `${feature}#${edge}`);
    expect(claimed).toMatchObject({ reason: 'GRANTED' });
    if (expected.claim !== undefined)
      expect(claimed.warnings).toContainEqual(expect.stringContaining('An imported log says'));

    expect(await json(terminal, 'import', '--foreign', LOG)).toMatchObject({
      written: 0,
      already_there: read,
    });
    await run(terminal, 'verify');
    const archive = (await run(terminal, 'export')).trimEnd().split('\n');
    expect(archive.filter((line) => line.includes('"imported":{'))).toHaveLength(log.length);

    // The export has every line of the foreign log, and our own lines.
    const family = (await run(terminal, 'export', '--format', 'family')).trimEnd().split('\n');
    const ownField = `"project":"${claimed.claim.project_id}"`;
    expect(family.filter((line) => !line.includes(ownField))).toHaveLength(log.length);
    expect(JSON.parse(family.at(-1) ?? '')).toMatchObject({
      event_type: 'edge_started',
      feature: Object.keys(expected.features)[0],
      edge: expect.stringMatching(/→|↔/),
    });
  },
);

test.each(folders.map(({ name }) => name))(
  'the imported edges of %s can be trusted, and no others',
  async (name) => {
    const { terminal, expected } = await open(name);
    await run(terminal, 'init');
    const { trust } = await json(terminal, 'import', '--foreign', LOG, '--trust-imports');
    const converged = Object.entries(expected.features).flatMap(([id, feature]) =>
      feature.converged.map((edge) => `${id}#${edge}`),
    );
    expect(trust.trusted.map(({ task_id }: { task_id: string }) => task_id).sort()).toEqual(converged.sort());
    for (const edge of converged) {
      const { out } = await runGen(terminal, 'task', 'claim', edge, '--json');
      expect(JSON.parse(out)).toMatchObject({ reason: 'DENIED_COMPLETED' });
    }
    await run(terminal, 'verify');
  },
);
