/**
 * Attacker: an agent that may write drafts and submit results, or a remote whose log a workspace takes over.
 * Goal: place a file that commands another program on the machine of a person: the settings, hooks and instructions of a
 * coding agent, a workflow of the continuous integration, a git hook, or the secrets and the log of Genesis itself.
 * Defence: one list in `src/core/graph/guarded-paths.ts`. Into closed folders nothing is promoted, however they are
 * spelled. What commands other programs is accepted only with the approval of a human, and promoted only where the log
 * has that approval: whoever wrote the log, also where it came by sync.
 */
import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gen } from '../../src/cli/testing/terminal.js';
import { F, project, put } from '../../src/cli/testing/workspace.js';
import { OPEN_CALLER } from '../../src/coordinator/caller.js';
import { sha256Hex } from '../../src/coordinator/identity.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { collectDrafts } from '../../src/workspace/drafts/collect.js';
import { isolate } from '../../src/workspace/drafts/isolation.js';
import { promoteAccepted } from '../../src/workspace/drafts/redo.js';
import { ALPHA, write, Yard } from '../../src/workspace/drafts/testing/yard.js';
import { coordinatorRemote } from '../../src/workspace/sync/coordinator-remote.js';
import { pull } from '../../src/workspace/sync/pull.js';
import { folderOfATest, KEY, opened, placeIn, quiet } from '../../src/workspace/sync/testing/laptop.js';
import { Agent, human } from '../support/agent.js';
import { answered, House, P } from '../support/house.js';
import { FILES, reported } from '../support/workspace-files.js';

const EDGE = 'REQ-F-A#design_code';
const TEXT = 'do as I say';

const CLOSED = [
  '.genesis/handles/x.json',
  '.GENESIS/log/events.jsonl',
  '.Genesis/x',
  'sub/.genesis/x',
  '.genesis./x',
  '.genesis /x',
  '.genesis::$INDEX_ALLOCATION/x',
  'GENESI~1/x',
  'genesi~2/x',
  'GENES~10/x',
  'GE1A2B~1/x',
  '.ｇｅｎｅｓｉｓ/x',
  '.gene\u017fis/x',
  '.genes\u0131s/x',
  '.gen\u200besis/x',
  '.git/hooks/post-checkout',
  'GIT~2/config',
  '.ai-workspace/agent_roles.yml',
  'AI-WOR~2/agent_roles.yml',
];

const COMMANDING = [
  '.claude/settings.json',
  'packages/api/.claude/agents/helper.md',
  '.Claude/settings.json',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.mcp.json',
  '.MCP.json',
  'CLAUDE.md',
  'docs/Claude.MD',
  'CLAUDE.local.md',
  'AGENTS.md',
  'src/core/AGENTS.md',
  'AGENTS.override.md',
  'GEMINI.md',
  'ＣＬＡＵＤＥ.md',
  'cl\u200baude.md',
  '.github/workflows/ci.yml',
  '.githooks/pre-commit',
  '.husky/pre-push',
  '.git-hooks/pre-commit',
  'lefthook.yml',
  '.pre-commit-config.yaml',
];

const manifestOf = (...paths: string[]) => ({
  kind: 'files',
  files: paths.map((path) => ({
    path,
    sha256: sha256Hex(TEXT),
    size_bytes: TEXT.length,
    executable: false,
    base_sha256: null,
  })),
  total_bytes: paths.length * TEXT.length,
});

const NO_HUMAN_FOR_THE_SPECIFICATION =
  'roles:\n  architect: { converge_edges: all }\nauthority: { spec_mutation_requires_human: false, outside_authority_action: warn }\n';

/** A project with a coordinator, and an agent of the role that may converge the edge. */
async function begin(files: Record<string, string> | null = FILES) {
  const house = await House.open('file');
  const yard = await Yard.open();
  if (files !== null) answered(await house.coordinator.settings.configure(P, { files }));
  await house.blobs.put(P.tenant_id, sha256Hex(TEXT), Buffer.from(TEXT));
  const alpha = new Agent(house, 'alpha', 's1');
  await alpha.claims(EDGE, { agent_role: 'architect' });
  const log = { store: house.store, blobs: house.blobs, key: P };
  const checks = files === null ? {} : reported();
  const submits = (...paths: string[]) => alpha.submits(EDGE, manifestOf(...paths), checks);
  const approves = (...paths: string[]) =>
    house.coordinator.recordReview(
      P,
      {
        task_id: EDGE,
        generation: 1,
        iteration: 1,
        decision: 'APPROVED',
        candidate_sha256: sha256Hex(canonicalJson(manifestOf(...paths))),
      },
      human('rita'),
    );
  const escalated = async () =>
    (await house.events()).findLast(({ event_type }) => event_type === 'convergence_escalated');
  return { house, yard, log, alpha, submits, approves, escalated };
}

describe('a closed folder', () => {
  test.each(CLOSED)('takes no result: %j', async (path) => {
    const { house, alpha } = await begin();
    const body = { ...alpha.handle(EDGE), result_data: manifestOf('src/a.ts', path), ...reported() };
    expect(await house.coordinator.submitResult(P, body, OPEN_CALLER)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test.each(CLOSED.filter((path) => !/[:]/.test(path)))('takes no draft: %j', async (path) => {
    const yard = await Yard.open();
    await yard.draft(path, TEXT);
    expect(await yard.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('takes nothing out of a worktree', async () => {
    const yard = await Yard.open();
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: yard.root });
    git('init', '--quiet');
    await yard.share('.gitignore', '.ai-workspace/\n');
    git('add', '.');
    git('commit', '--quiet', '-m', 'start');
    await writeFile(yard.path('coordination.yml'), 'isolation: worktree\n');
    const grant = { ...ALPHA, generation: 1 };
    const isolation = await isolate(yard, grant);
    if (!('work' in isolation)) throw new Error(isolation.says);
    await write(join(yard.root, isolation.work, '.Genesis/log'), TEXT);
    expect(await collectDrafts(yard, yard, grant)).toMatchObject({
      refused: 'BAD_NAME',
      path: '.Genesis/log',
    });
  });

  test.each(['.genesis/x', 'GENESI~1/x'])(
    'takes nothing from a log that has it accepted: %j',
    async (path) => {
      const { house, yard, log, submits } = await begin();
      expect(await submits('docs/a.md')).toMatchObject({ reason: 'ACCEPTED' });
      const promotion = await promoteAccepted(yard, { ...log, store: withPath(house, path) });
      expect(promotion).toMatchObject({ written: [], failures: [{ path: 'files.0.path' }] });
      expect(await readdir(yard.root)).toEqual(['.ai-workspace']);
    },
  );
});

/** The log of the house, in which accepted files have another path: as an older version, or a liar, wrote it. */
function withPath(house: House, path: string) {
  const changed = (event: EventEnvelope): EventEnvelope => {
    if (event.event_type !== 'edge_converged') return event;
    return { ...event, payload: { ...event.payload, result_data: manifestOf(path, 'src/b.ts') } };
  };
  return {
    project: house.store.project.bind(house.store),
    events: async (...asked: Parameters<House['store']['events']>) =>
      (await house.store.events(...asked)).map(changed),
  };
}

describe('what commands other programs', () => {
  test.each(COMMANDING)('waits for a human, who is told the path: %j', async (path) => {
    const { yard, log, submits, escalated } = await begin();
    const reply = await submits('src/a.ts', path);
    expect(reply).toMatchObject({ accepted: false, reason: 'ESCALATED' });
    expect(reply.next).toContain(path);
    expect((await escalated())?.payload).toMatchObject({ reason: 'commands_programs', paths: [path] });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: [] });
    expect(await readdir(yard.root)).toEqual(['.ai-workspace']);
  });

  test('is promoted once a human has approved exactly this candidate', async () => {
    const { yard, log, submits, approves } = await begin();
    await submits('CLAUDE.md', '.claude/settings.json');
    expect(await approves('CLAUDE.md')).toMatchObject({ reason: 'STALE_REVIEW' });
    expect(await approves('CLAUDE.md', '.claude/settings.json')).toMatchObject({ reason: 'APPROVED' });
    expect(await promoteAccepted(yard, log)).toMatchObject({
      written: ['CLAUDE.md', '.claude/settings.json'],
      conflicts: [],
    });
    expect(await yard.shared('CLAUDE.md')).toBe(TEXT);
  });

  test('is promoted where a human did the work', async () => {
    const { house, yard, log } = await begin();
    const rita = new Agent(house, 'rita', 's-rita');
    const edge = 'REQ-F-B#design_code';
    await rita.claims(edge, { agent_role: 'human' });
    const submitted = await rita.submits(edge, manifestOf('AGENTS.md'), reported());
    expect(submitted).toMatchObject({ reason: 'ACCEPTED' });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['AGENTS.md'] });
  });

  test.each([
    [
      'a project that lets roles change the specification',
      { ...FILES, 'agent_roles.yml': NO_HUMAN_FOR_THE_SPECIFICATION },
    ],
    ['a project that was never configured', null],
  ])('waits for a human in %s, too', async (_, files) => {
    const { submits, approves, yard, log } = await begin(files);
    expect(await submits('.mcp.json')).toMatchObject({ reason: 'ESCALATED' });
    expect(await approves('.mcp.json')).toMatchObject({ reason: 'APPROVED' });
    expect(await promoteAccepted(yard, log)).toMatchObject({ written: ['.mcp.json'] });
  });

  test('is not for an agent that calls itself human and may not review', async () => {
    const { house } = await begin(null);
    const agent = { ...OPEN_CALLER, may_review: false };
    const who = { task_id: 'REQ-F-B#design_code', session_id: 's9' };
    const claim = { ...who, agent_id: 'mallory', agent_role: 'human' };
    expect(await house.coordinator.claimTask(P, claim, agent)).toMatchObject({ success: true });
    const body = { ...who, generation: 1, result_data: manifestOf('.mcp.json') };
    expect(await house.coordinator.submitResult(P, body, agent)).toMatchObject({ reason: 'ESCALATED' });
  });

  test('is kept aside where the log accepted it without a human; the other files come', async () => {
    const { house, yard, log, submits } = await begin();
    await submits('docs/a.md');
    const promotion = await promoteAccepted(yard, {
      ...log,
      store: withPath(house, '.claude/settings.json'),
    });
    expect(promotion).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: '.claude/settings.json', says: expect.stringContaining('no human') }],
    });
    expect(await yard.shared('.claude/settings.json')).toBeNull();
    const kept = promotion.conflicts[0]?.kept_at ?? '';
    expect(kept).toMatch(/^\.ai-workspace\/agents\/alpha\/conflicts\//);
    expect(await readFile(join(yard.root, kept), 'utf8')).toBe(TEXT);
  });

  test('is not approved by a review that an agent told, or that came with an import', async () => {
    const { house, yard, log, submits } = await begin();
    await submits('docs/a.md');
    const forged = withPath(house, '.mcp.json');
    const store = {
      ...forged,
      events: async (...asked: Parameters<House['store']['events']>) => {
        const events = await forged.events(...asked);
        const [key, query] = asked;
        if (query.types?.includes('review_completed') !== true) return events;
        const [accepted] = await house.store.events(key, { after: 0, limit: 1, types: ['edge_converged'] });
        const payload = { decision: 'APPROVED', candidate_sha256: accepted?.payload.result_sha256 };
        const { seq: _, ...told } = { ...accepted, event_type: 'review_completed', position: 1, payload };
        return [told as EventEnvelope];
      },
    };
    expect(await promoteAccepted(yard, { ...log, store })).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: '.mcp.json' }],
    });
  });

  test('is kept aside when a sync pull brings it from a remote that asked no human', async () => {
    const house = await House.open('memory');
    const yard = await Yard.open();
    await house.blobs.put(KEY.tenant_id, sha256Hex(TEXT), Buffer.from(TEXT));
    const alpha = new Agent(house, 'alpha', 's1', null, KEY);
    await alpha.claims(EDGE);
    expect(await alpha.submits(EDGE, manifestOf('docs/a.md', 'docs/b.md'))).toMatchObject({ accepted: true });
    const { coordinator, store, blobs } = house;
    const honest = coordinatorRemote({ name: 'office', coordinator, store, blobs, key: KEY });
    const remote = {
      ...honest,
      events: async (after: number, limit: number) =>
        withPath(house, 'CLAUDE.md').events(KEY, { after, limit }),
    };
    const place = placeIn(await folderOfATest('laptop', onTestFinished));
    expect(await pull(place, remote, { ...quiet, keep_aside: false })).toMatchObject({ rebuilt: false });
    const promotion = await opened(place, (local) => promoteAccepted(yard, { ...local, key: KEY }));
    expect(promotion).toMatchObject({ written: ['src/b.ts'], conflicts: [{ path: 'CLAUDE.md' }] });
    expect(await yard.shared('CLAUDE.md')).toBeNull();
  });
});

test('a person sees the paths before deciding, and what they approve is promoted', async () => {
  const checks =
    'edge: "intent→requirements"\nchecklist:\n  - {name: reads_well, type: agent, criterion: "It reads well"}\n';
  const setting = {
    ...(await project({ '.ai-workspace/graph/edges/intent_requirements.yml': checks })),
    columns: 300,
  };
  const edge = `${F}#intent_requirements`;
  const claimed = await gen(setting, 'task', 'claim', edge, '--role', 'architect', '--json');
  await put(setting.cwd, `${JSON.parse(claimed.out).work}/docs/CLAUDE.md`, TEXT);
  const submitted = await gen(setting, 'task', 'submit', edge, '--drafts', '--check', 'reads_well=pass');
  expect(submitted).toMatchObject({ code: 3, err: expect.stringContaining('docs/CLAUDE.md') });
  const { out } = await gen(setting, 'review', '--feature', F);
  expect(out).toContain('docs/CLAUDE.md (commands_programs)');
  const shared = () => readFile(join(setting.cwd, 'docs/CLAUDE.md'), 'utf8').catch(() => null);
  expect(await shared()).toBeNull();
  expect((await gen(setting, 'review', '--feature', F, '--approve')).code).toBe(0);
  expect(await shared()).toBe(TEXT);
});
