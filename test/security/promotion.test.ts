/**
 * Who: an agent that may write drafts and submit results, or a remote whose log a workspace takes over.
 *
 * What they want: to place a file that controls another program on a person's machine: the settings, hooks and
 * instructions of a coding agent, a CI workflow, a git hook, a bare git repository whose configuration runs commands, or
 * the secrets and the log of Genesis itself.
 *
 * What stops them: one list in `src/core/methodology/definition/guarded-paths.ts`. Nothing is promoted into closed folders, however they
 * are spelled. A file that controls other programs is accepted only with the approval of a person, and promoted only if
 * the log has that approval, whoever wrote the log and even if it came by sync.
 */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from '../../src/cli/testing/workspace.js';
import { OPEN_CALLER } from '../../src/coordinator/authentication/caller.js';
import { sha256Hex } from '../../src/coordinator/runtime/identity.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { collectDrafts } from '../../src/workspace/drafts/collect.js';
import { createGrantFolders } from '../../src/workspace/drafts/isolation.js';
import { promoteAccepted } from '../../src/workspace/drafts/promote-accepted.js';
import { ALPHA, DraftsHarness, write } from '../../src/workspace/drafts/testing/drafts-harness.js';
import { pull } from '../../src/workspace/sync/pull.js';
import { storeRemote } from '../../src/workspace/sync/store-remote.js';
import {
  KEY,
  quietOptions,
  syncWorkspaceIn,
  withLocalLog,
} from '../../src/workspace/sync/testing/sync-harness.js';
import { HarnessAgent, personCaller } from '../support/agent.js';
import { CoordinatorHarness, PROJECT_KEY, unwrap } from '../support/coordinator-harness.js';
import { git } from '../support/git.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { evaluatorReport, FILES } from '../support/workspace-files.js';

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

const CONTROL_FILES = [
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
  'lefthook.toml',
  '.lefthook.json',
  'lefthook-local.yml',
  '.lefthook-local.yml',
  '.pre-commit-config.yaml',
  '.overcommit.yml',
  '.gitlab-ci.yml',
  '.circleci/config.yml',
  'Jenkinsfile',
  '.cursor/mcp.json',
  '.vscode/tasks.json',
  '.gitattributes',
  '.gitmodules',
];

const manifestOf = (...paths: string[]) => manifestWith(paths.map((path) => [path, TEXT] as const));

const manifestWith = (files: readonly (readonly [path: string, content: string])[]) => ({
  kind: 'files',
  files: files.map(([path, content]) => ({
    path,
    sha256: sha256Hex(content),
    size_bytes: Buffer.byteLength(content),
    executable: false,
    base_sha256: null,
  })),
  total_bytes: files.reduce((sum, [, content]) => sum + Buffer.byteLength(content), 0),
});

const NO_HUMAN_FOR_THE_SPECIFICATION =
  'roles:\n  architect: { converge_edges: all }\nauthority: { spec_mutation_requires_human: false, outside_authority_action: warn }\n';

/** A project with a coordinator, and an agent with the role that may converge the edge. */
async function openWithClaim(files: Record<string, string> | null = FILES) {
  const harness = await CoordinatorHarness.open('file', { home: PROJECT_KEY });
  const draftsHarness = await DraftsHarness.open();
  if (files !== null) unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  await harness.blobs.put(PROJECT_KEY.tenant_id, sha256Hex(TEXT), Buffer.from(TEXT));
  const alpha = new HarnessAgent(harness, 'alpha', 's1');
  await alpha.claim(EDGE, { agent_role: 'architect' });
  const log = { store: harness.store, blobs: harness.blobs, key: PROJECT_KEY };
  const checks = files === null ? {} : evaluatorReport();
  const submits = (...paths: string[]) => alpha.submit(EDGE, manifestOf(...paths), checks);
  const approves = (...paths: string[]) =>
    harness.coordinator.decisions.recordReview(
      PROJECT_KEY,
      {
        task_id: EDGE,
        generation: 1,
        iteration: 1,
        decision: 'APPROVED',
        candidate_sha256: sha256Hex(canonicalJson(manifestOf(...paths))),
      },
      personCaller('rita'),
    );
  const escalated = async () =>
    (await harness.events()).findLast(({ event_type }) => event_type === 'convergence_escalated');
  return { harness, draftsHarness, log, alpha, submits, approves, escalated };
}

describe('a closed folder', () => {
  test.each(CLOSED)('accepts no result: %j', async (path) => {
    const { harness, alpha } = await openWithClaim();
    const body = { ...alpha.handle(EDGE), result_data: manifestOf('src/a.ts', path), ...evaluatorReport() };
    expect(await harness.coordinator.holder.submitResult(PROJECT_KEY, body, OPEN_CALLER)).toMatchObject({
      problem: 'INVALID_REQUEST',
    });
  });

  test.each(CLOSED.filter((path) => !/[:]/.test(path)))('accepts no draft: %j', async (path) => {
    const draftsHarness = await DraftsHarness.open();
    await draftsHarness.writeDraft(path, TEXT);
    expect(await draftsHarness.collect()).toMatchObject({ refused: 'BAD_NAME' });
  });

  test('accepts no file from a worktree', async () => {
    const draftsHarness = await DraftsHarness.open();
    git(draftsHarness.root, 'init', '--quiet');
    await draftsHarness.writeShared('.gitignore', '.ai-workspace/\n');
    git(draftsHarness.root, 'add', '.');
    git(draftsHarness.root, 'commit', '--quiet', '-m', 'start');
    await writeFile(draftsHarness.workspacePath('coordination.yml'), 'isolation: worktree\n');
    const grant = { ...ALPHA, generation: 1 };
    const isolation = await createGrantFolders(draftsHarness, grant);
    if (!('work' in isolation)) throw new Error(isolation.says);
    await write(join(draftsHarness.root, isolation.work, '.Genesis/log'), TEXT);
    expect(await collectDrafts(draftsHarness, draftsHarness, grant)).toMatchObject({
      refused: 'BAD_NAME',
      path: '.Genesis/log',
    });
  });

  test.each(['.genesis/x', 'GENESI~1/x'])(
    'is not written to, even if the log accepted the file: %j',
    async (path) => {
      const { harness, draftsHarness, log, submits } = await openWithClaim();
      expect(await submits('docs/a.md')).toMatchObject({ reason: 'ACCEPTED' });
      const promotion = await promoteAccepted(draftsHarness, { ...log, store: withPath(harness, path) });
      expect(promotion).toMatchObject({ written: [], failures: [{ path: 'files.0.path' }] });
      expect(await readdir(draftsHarness.root)).toEqual(['.ai-workspace']);
    },
  );
});

/**
 * The harness's log with the path of an accepted file changed, as an older version or an attacker might have written
 * it.
 */
const withPath = (harness: CoordinatorHarness, path: string) =>
  withManifest(harness, manifestOf(path, 'src/b.ts'));

function withManifest(harness: CoordinatorHarness, result_data: ReturnType<typeof manifestOf>) {
  const changed = (event: EventEnvelope): EventEnvelope => {
    if (event.event_type !== 'edge_converged') return event;
    return { ...event, payload: { ...event.payload, result_data } };
  };
  return {
    project: harness.store.project.bind(harness.store),
    events: async (...args: Parameters<CoordinatorHarness['store']['events']>) =>
      (await harness.store.events(...args)).map(changed),
  };
}

describe('a file that controls other programs', () => {
  test.each(CONTROL_FILES)('requires a person, and the escalation names its path: %j', async (path) => {
    const { draftsHarness, log, submits, escalated } = await openWithClaim();
    const reply = await submits('src/a.ts', path);
    expect(reply).toMatchObject({ accepted: false, reason: 'ESCALATED' });
    expect(reply.next).toContain(path);
    expect((await escalated())?.payload).toMatchObject({ reason: 'commands_programs', paths: [path] });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: [] });
    expect(await readdir(draftsHarness.root)).toEqual(['.ai-workspace']);
  });

  test('is promoted once a person has approved exactly this candidate', async () => {
    const { draftsHarness, log, submits, approves } = await openWithClaim();
    await submits('CLAUDE.md', '.claude/settings.json');
    expect(await approves('CLAUDE.md')).toMatchObject({ reason: 'STALE_REVIEW' });
    expect(await approves('CLAUDE.md', '.claude/settings.json')).toMatchObject({ reason: 'APPROVED' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({
      written: ['CLAUDE.md', '.claude/settings.json'],
      conflicts: [],
    });
    expect(await draftsHarness.readShared('CLAUDE.md')).toBe(TEXT);
  });

  test('is promoted if a person did the work', async () => {
    const { harness, draftsHarness, log } = await openWithClaim();
    const rita = new HarnessAgent(harness, 'rita', 's-rita');
    const edge = 'REQ-F-B#design_code';
    await rita.claim(edge, { agent_role: 'human' });
    const submitted = await rita.submit(edge, manifestOf('AGENTS.md'), evaluatorReport());
    expect(submitted).toMatchObject({ reason: 'ACCEPTED' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['AGENTS.md'] });
  });

  test.each([
    [
      'a project that lets roles change the specification',
      { ...FILES, 'agent_roles.yml': NO_HUMAN_FOR_THE_SPECIFICATION },
    ],
    ['a project that was never configured', null],
  ])('also requires a person in %s', async (_, files) => {
    const { submits, approves, draftsHarness, log } = await openWithClaim(files);
    expect(await submits('.mcp.json')).toMatchObject({ reason: 'ESCALATED' });
    expect(await approves('.mcp.json')).toMatchObject({ reason: 'APPROVED' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['.mcp.json'] });
  });

  test('is escalated for an agent that calls itself human but may not review', async () => {
    const { harness } = await openWithClaim(null);
    const agent = { ...OPEN_CALLER, may_review: false };
    const who = { task_id: 'REQ-F-B#design_code', session_id: 's9' };
    const claim = { ...who, agent_id: 'mallory', agent_role: 'human' };
    expect(await harness.coordinator.claims.claimTask(PROJECT_KEY, claim, agent)).toMatchObject({
      success: true,
    });
    const body = { ...who, generation: 1, result_data: manifestOf('.mcp.json') };
    expect(await harness.coordinator.holder.submitResult(PROJECT_KEY, body, agent)).toMatchObject({
      reason: 'ESCALATED',
    });
  });

  test('is kept as a conflict if the log accepted it without a person, and other files are promoted', async () => {
    const { harness, draftsHarness, log, submits } = await openWithClaim();
    await submits('docs/a.md');
    const promotion = await promoteAccepted(draftsHarness, {
      ...log,
      store: withPath(harness, '.claude/settings.json'),
    });
    expect(promotion).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: '.claude/settings.json', says: expect.stringContaining('no person') }],
    });
    expect(await draftsHarness.readShared('.claude/settings.json')).toBeNull();
    const kept = promotion.conflicts[0]?.kept_at ?? '';
    expect(kept).toMatch(/^\.ai-workspace\/agents\/alpha\/conflicts\//);
    expect(await readFile(join(draftsHarness.root, kept), 'utf8')).toBe(TEXT);
  });

  test('is not approved by a review event that an agent appended or that was imported', async () => {
    const { harness, draftsHarness, log, submits } = await openWithClaim();
    await submits('docs/a.md');
    const forged = withPath(harness, '.mcp.json');
    const store = {
      ...forged,
      events: async (...args: Parameters<CoordinatorHarness['store']['events']>) => {
        const events = await forged.events(...args);
        const [projectKey, query] = args;
        if (query.types?.includes('review_completed') !== true) return events;
        const [accepted] = await harness.store.events(projectKey, {
          after: 0,
          limit: 1,
          types: ['edge_converged'],
        });
        const payload = { decision: 'APPROVED', candidate_sha256: accepted?.payload.result_sha256 };
        const { seq: _, ...event } = { ...accepted, event_type: 'review_completed', position: 1, payload };
        return [event as EventEnvelope];
      },
    };
    expect(await promoteAccepted(draftsHarness, { ...log, store })).toMatchObject({
      written: ['src/b.ts'],
      conflicts: [{ path: '.mcp.json' }],
    });
  });

  test('is kept as a conflict if a sync pull gets it from a remote that required no person', async () => {
    const harness = await CoordinatorHarness.open('memory', { home: KEY });
    const draftsHarness = await DraftsHarness.open();
    await harness.blobs.put(KEY.tenant_id, sha256Hex(TEXT), Buffer.from(TEXT));
    const alpha = new HarnessAgent(harness, 'alpha', 's1', null, KEY);
    await alpha.claim(EDGE);
    expect(await alpha.submit(EDGE, manifestOf('docs/a.md', 'docs/b.md'))).toMatchObject({ accepted: true });
    const { coordinator, store, blobs } = harness;
    const honest = storeRemote({ name: 'office', coordinator, store, blobs, key: KEY });
    const remote = {
      ...honest,
      events: async (after: number, limit: number) =>
        withPath(harness, 'CLAUDE.md').events(KEY, { after, limit }),
    };
    const workspace = syncWorkspaceIn(await temporaryFolder());
    expect(await pull(workspace, remote, { ...quietOptions, may_replace_unpushed: false })).toMatchObject({
      rebuilt: false,
    });
    const promotion = await withLocalLog(workspace, (local) =>
      promoteAccepted(draftsHarness, { ...local, key: KEY }),
    );
    expect(promotion).toMatchObject({ written: ['src/b.ts'], conflicts: [{ path: 'CLAUDE.md' }] });
    expect(await draftsHarness.readShared('CLAUDE.md')).toBeNull();
  });
});

describe('a bare git repository in a result', () => {
  const FOLDER = 'docs/assets';
  const [HEAD, CONFIG, OBJECTS, REFS] = ['HEAD', 'config', 'objects/keep', 'refs/keep'].map(
    (name) => `${FOLDER}/${name}`,
  ) as [string, string, string, string];

  test.each([
    ['all its files', [HEAD, CONFIG, OBJECTS, REFS], [HEAD, CONFIG]],
    ['all its files but the configuration', [HEAD, OBJECTS, REFS], [HEAD]],
    ['HEAD alone, after earlier results added the folders', [HEAD], [HEAD]],
    ['HEAD in lower case', [`${FOLDER}/head`, OBJECTS, REFS], [`${FOLDER}/head`]],
    ['the configuration alone, if the project has the repository', [CONFIG], [CONFIG]],
    ['the configuration of a worktree', [`${CONFIG}.worktree`], [`${CONFIG}.worktree`]],
  ])('requires a person if the result has %s', async (_, files, paths) => {
    const { draftsHarness, log, submits, escalated } = await openWithClaim();
    expect(await submits('src/a.ts', ...files)).toMatchObject({ accepted: false, reason: 'ESCALATED' });
    expect((await escalated())?.payload).toMatchObject({ reason: 'commands_programs', paths });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: [] });
    expect(await readdir(draftsHarness.root)).toEqual(['.ai-workspace']);
  });

  test('runs no command in git if a log accepted it without a person', async () => {
    const { harness, draftsHarness, log, submits } = await openWithClaim();
    await submits('docs/a.md');
    const folder = join(draftsHarness.root, FOLDER);
    const marker = join(draftsHarness.root, 'command-has-run');
    const repository = [
      [HEAD, 'ref: refs/heads/main\n'],
      [
        CONFIG,
        `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch '${marker}'; false"\n`,
      ],
      [OBJECTS, ''],
      [REFS, ''],
    ] as const;
    for (const [, content] of repository) {
      await harness.blobs.put(PROJECT_KEY.tenant_id, sha256Hex(content), Buffer.from(content));
    }
    const gitStatus = () => spawnSync('git', ['status'], { cwd: folder });
    const hasRun = async () => (await readdir(draftsHarness.root)).includes('command-has-run');

    const store = withManifest(harness, manifestWith(repository));
    expect(await promoteAccepted(draftsHarness, { ...log, store })).toMatchObject({
      written: [OBJECTS, REFS],
      conflicts: [{ path: HEAD }, { path: CONFIG }],
    });
    gitStatus();
    expect(await hasRun()).toBe(false);

    // Counter-check: git runs the command once both files are in the workspace.
    for (const [path, content] of repository) await draftsHarness.writeShared(path, content);
    gitStatus();
    expect(await hasRun()).toBe(true);
  });
});

test('a reviewer sees the paths before deciding, and approved files are promoted', async () => {
  const checks =
    'edge: "intent→requirements"\nchecklist:\n  - {name: reads_well, type: agent, criterion: "It reads well"}\n';
  const terminal = {
    ...(await createProject({ '.ai-workspace/graph/edges/intent_requirements.yml': checks })),
    columns: 300,
  };
  const edge = `${FEATURE_ID}#intent_requirements`;
  const claimed = await runGen(terminal, 'task', 'claim', edge, '--role', 'architect', '--json');
  await writeProjectFile(terminal.cwd, `${JSON.parse(claimed.out).draft_folder}/docs/CLAUDE.md`, TEXT);
  const submitted = await runGen(terminal, 'task', 'submit', edge, '--drafts', '--check', 'reads_well=pass');
  expect(submitted).toMatchObject({ code: 3, err: expect.stringContaining('docs/CLAUDE.md') });
  const { out } = await runGen(terminal, 'review', '--feature', FEATURE_ID);
  expect(out).toContain('docs/CLAUDE.md (commands_programs)');
  const shared = () => readFile(join(terminal.cwd, 'docs/CLAUDE.md'), 'utf8').catch(() => null);
  expect(await shared()).toBeNull();
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(0);
  expect(await shared()).toBe(TEXT);
});
