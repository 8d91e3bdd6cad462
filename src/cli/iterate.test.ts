import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

test('gen zoom --mermaid draws the machine of an edge', async () => {
  const terminal = await createProject();
  const zoom = (...args: string[]) => runGen(terminal, 'zoom', '--mermaid', ...args);
  const drawn = await zoom('--edge', 'design→code');
  expect(drawn.out).toContain('stateDiagram-v2');
  expect(drawn.out).toContain('ConstructCandidate');
  expect((await zoom()).code).toBe(2);
  expect((await zoom('--edge', 'nowhere')).err).toContain('The graph has no edge nowhere');
  for (const typo of [zoom('--edge', 'desgn_code'), runGen(terminal, 'zoom', '--edge', 'desgn_code')])
    expect((await typo).err).toContain('Did you mean design_code?');
});

// req: ITR-011
test('gen runs lists, shows, cancels and retries runs, by the beginning of their id', async () => {
  const terminal = await createProject();
  const edge = `${FEATURE_ID}#design_code`;
  expect((await runGen(terminal, 'runs')).out).toContain('No edge has been run');
  const dryRun = await runGen(terminal, 'iterate', edge, '--dry-run');
  expect(dryRun.out.indexOf('REQUIRED')).toBeLessThan(dryRun.out.indexOf('StartAt'));
  expect(dryRun.out.indexOf('has no constructor')).toBeLessThan(dryRun.out.indexOf('StartAt'));
  expect(dryRun.out).toContain('design_code has no constructor.');
  const iterateWith = async (settings: string) => {
    await writeProjectFile(terminal.cwd, '.ai-workspace/engine.yml', settings);
    expect((await runGen(terminal, 'init')).code).toBe(0);
    return runGen(terminal, 'iterate', edge, '--yes', '--unsandboxed');
  };
  const construct = 'construct: { type: command, command: ["true"] }\n';
  expect(await iterateWith(construct)).toMatchObject({
    code: 2,
    err: expect.stringContaining('no evaluator'),
  });
  // The draft stays empty, so the run fails without a candidate.
  await iterateWith(`${construct}evaluate: { type: command, command: ["true"] }\n`);
  const { runs } = JSON.parse((await runGen(terminal, 'runs', '--json')).out);
  expect(runs).toMatchObject([{ task_id: edge, status: 'ESCALATED' }]);
  const id: string = runs[0].run_id;
  const shown = await runGen(terminal, 'runs', 'show', id.slice(0, 13));
  expect(shown.out).toContain('construct_candidate');
  expect(shown.out.replace(/\s+/g, ' ')).toContain('The agent changed nothing');
  expect((await runGen(terminal, 'runs', 'show', 'x')).err).toContain('There is no run x');
  const unknown = await runGen(terminal, 'runs', 'retry', id, '--role', 'full_stakk');
  expect(unknown.code).toBe(2);
  expect(unknown.err).toContain('The project has no role full_stakk. Did you mean full_stack?');
  const retried = await runGen(terminal, 'runs', 'retry', id);
  expect(retried.out).toContain(`gen iterate ${edge}`);
  expect(
    (
      await runGen(
        terminal,
        'runs',
        'show',
        JSON.parse((await runGen(terminal, 'runs', '--json')).out).runs[0].run_id,
      )
    ).out,
  ).toMatch(/requested \S+ by anonymous/);
  const listed = JSON.parse((await runGen(terminal, 'runs', '--json')).out).runs;
  expect(listed).toMatchObject([{ status: 'REQUESTED', retry_of: id }, { run_id: id }]);
  const ambiguous = await runGen(terminal, 'runs', 'show', '');
  expect(ambiguous).toMatchObject({ code: 1, err: expect.stringContaining('The ids of 2 runs begin with') });
  for (const { run_id } of listed) expect(ambiguous.err).toContain(run_id);
  expect((await runGen(terminal, 'runs', 'cancel', listed[0].run_id)).out).toContain('is cancelled');
  const again = await runGen(terminal, 'runs', 'cancel', listed[0].run_id);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('RUN_ENDED') });
  expect((await runGen(terminal, 'status', '--health')).out).toContain('spent by runs');
});

/** An edge whose constructor and check are real commands, under a profile with these evaluators. */
async function projectWith(...evaluators: string[]) {
  const { cwd, env } = await createProject({
    [PROFILE_FILE]: profileWith(...evaluators),
    '.ai-workspace/graph/edges/intent_requirements.yml': `edge: "intent→requirements"
checklist:
  - { name: has_docs, type: deterministic, criterion: "It is there", required: true, command: "test -d docs" }
construct: { type: command, command: [sh, -c, "mkdir docs && echo done > docs/a.md"] }
`,
  });
  return { cwd, env: { ...env, PATH: process.env.PATH ?? '' } };
}
const SUBJECT = `${FEATURE_ID}#intent_requirements`;
const PROFILE_FILE = '.ai-workspace/profiles/minimal.yml';
const profileWith = (...evaluators: string[]) =>
  `profile: minimal\ngraph: {include: ["intent→requirements"]}\nevaluators: {default: [${evaluators}]}\n`;
const onOneLine = (text: string) => text.replace(/\s+/g, ' ');
const RUN_OPTIONS = ['--yes', '--unsandboxed'];

test('gen iterate refuses an edge without a check that a candidate can pass; gen check and --dry-run warn', async () => {
  const terminal = await projectWith('agent');
  const sentence = 'intent_requirements has no required check under the profile minimal';
  const refused = await runGen(terminal, 'iterate', SUBJECT, ...RUN_OPTIONS);
  expect([refused.code, onOneLine(refused.err)]).toEqual([1, expect.stringContaining(sentence)]);
  expect((await runGen(terminal, 'runs')).out).toContain('No edge has been run');
  for (const argv of [
    ['check', SUBJECT, ...RUN_OPTIONS],
    ['iterate', SUBJECT, '--dry-run'],
  ])
    expect(onOneLine((await runGen(terminal, ...argv)).err)).toContain(sentence);
  await writeProjectFile(terminal.cwd, PROFILE_FILE, profileWith('deterministic'));
  const ended = await runGen(terminal, 'iterate', SUBJECT, ...RUN_OPTIONS, '--role', 'full_stack');
  expect(ended.out).toContain(`CONVERGED ${SUBJECT}`);
}, 60_000);

test('gen iterate refuses an edge with a required check that is skipped, before it runs an agent', async () => {
  const terminal = await projectWith('deterministic');
  const edgePath = '.ai-workspace/graph/edges/intent_requirements.yml';
  const edge = await readFile(join(terminal.cwd, edgePath), 'utf8');
  await writeProjectFile(terminal.cwd, edgePath, edge.replace('"test -d docs"', '"$tools.linter.command"'));
  const sentence =
    'has_docs: $tools.linter.command is empty in .ai-workspace/context/project_constraints.yml.';
  const refused = await runGen(terminal, 'iterate', SUBJECT, ...RUN_OPTIONS);
  expect([refused.code, onOneLine(refused.err)]).toEqual([1, expect.stringContaining(sentence)]);
  expect((await runGen(terminal, 'runs')).out).toContain('No edge has been run');
  expect(onOneLine((await runGen(terminal, 'iterate', SUBJECT, '--dry-run')).err)).toContain(sentence);
});

test('gen runs says who approved the candidate of an escalated run, when, and that the edge converged', async () => {
  const terminal = await projectWith('deterministic');
  expect((await runGen(terminal, 'iterate', SUBJECT, ...RUN_OPTIONS)).out).toContain(
    'ESCALATED (NOT_AUTHORISED)',
  );
  expect((await runGen(terminal, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(0);
  const [run] = JSON.parse((await runGen(terminal, 'runs', '--json')).out).runs;
  expect(run).toMatchObject({ status: 'ESCALATED', decision: 'APPROVED' });
  const sentence = `approved by ${run.decided_by} on ${run.decided_at}; the edge converged`;
  expect((await runGen(terminal, 'runs')).out).toContain(`ESCALATED (NOT_AUTHORISED), ${sentence}`);
  expect((await runGen(terminal, 'runs', 'show', run.run_id)).out).toContain(`\n  ${sentence}\n`);
}, 60_000);

test('gen iterate refuses an unknown role and an unknown edge with the closest names', async () => {
  const terminal = await projectWith('deterministic');
  for (const target of [[SUBJECT], ['--auto']]) {
    const refused = await runGen(terminal, 'iterate', ...target, ...RUN_OPTIONS, '--role', 'full_stakk');
    expect(refused.code).toBe(2);
    expect(onOneLine(refused.err)).toContain('no role full_stakk. Did you mean full_stack?');
  }
  const unknown = await runGen(terminal, 'iterate', `${FEATURE_ID}#intent_requirement`, ...RUN_OPTIONS);
  expect(unknown.code).toBe(1);
  expect(onOneLine(unknown.err)).toContain('no edge intent_requirement. Did you mean intent_requirements?');
  expect((await runGen(terminal, 'runs')).out).toContain('No edge has been run');
}, 60_000);
