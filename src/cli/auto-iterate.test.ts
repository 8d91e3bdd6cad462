import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runGen, startCommand, type TerminalOptions } from './testing/terminal.js';
import { createProject, FEATURE_ID } from './testing/workspace.js';

const SUBJECT = `${FEATURE_ID}#intent_requirements`;
const OTHER_ID = 'REQ-F-SHOP-002';
const JUDGED_ID = 'REQ-F-SHOP-003';
/** An agent check, which needs an evaluator. */
const JUDGED_CHECK = `constraints:
  additional_checks:
    - { name: judged, type: agent, criterion: "It reads well", required: true }
`;
const PROFILE = `profile: minimal
graph: {include: ["intent→requirements", "requirements→design"]}
evaluators: {default: [agent, deterministic]}
`;

interface EdgeOptions {
  readonly script?: string;
  readonly command?: string;
  /** YAML that is added to the fields of `convergence`. */
  readonly moreConvergence?: string;
}

/** The constructor writes a file; the check is a real command. */
const edgeFile = (
  name: string,
  { script, command = 'test -d docs', moreConvergence = '' }: EdgeOptions = {},
) => `edge: "${name}"
checklist:
  - { name: has_docs, type: deterministic, criterion: "It is there", required: true, command: "${command}" }
construct:
  type: command
  command: [sh, -c, "${script ?? `mkdir -p docs && echo done >> docs/${name.split('→')[1]}.md`}"]
convergence: { max_iterations: 3, stuck_threshold: 2${moreConvergence} }
`;
const edgePath = (name: string) => `.ai-workspace/graph/edges/${name}.yml`;
const featureText = (id: string, moreFields = '') =>
  `feature: ${id}\ntitle: Another\nintent: INT-001\nvector_type: feature\nprofile: minimal\npriority: low\n${moreFields}`;

type AutoProject = TerminalOptions & { cwd: string };

async function createAutoProject(files: Readonly<Record<string, string>> = {}): Promise<AutoProject> {
  const terminal = await createProject({
    '.ai-workspace/profiles/minimal.yml': PROFILE,
    [edgePath('intent_requirements')]: edgeFile('intent→requirements'),
    [edgePath('requirements_design')]: edgeFile('requirements→design'),
    '.ai-workspace/context/project_constraints.yml': CONSTRAINTS,
    ...files,
  });
  const { cwd, env } = terminal;
  return { cwd, env: { ...env, PATH: process.env.PATH ?? '' } };
}
const CONSTRAINTS = `constraint_dimensions:
  ecosystem_compatibility: {language: javascript}
  deployment_target: {platform: server}
  security_model: {authentication: none}
  build_system: {tool: npm}
`;

const runAuto = (project: AutoProject, ...argv: string[]) =>
  runGen(project, 'iterate', '--auto', '--unsandboxed', '--yes', '--role', 'full_stack', ...argv);

const eventsOf = async ({ cwd }: AutoProject): Promise<{ event_type: string; subject?: string }[]> =>
  (await readFile(join(cwd, '.ai-workspace/events/events.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event_type: string });

const convergedIn = async (project: AutoProject): Promise<number> =>
  (await eventsOf(project)).filter(({ event_type }) => event_type === 'edge_converged').length;

describe('gen iterate --auto', { timeout: 120_000 }, () => {
  it('runs edge after edge until nothing is ready', async () => {
    const project = await createAutoProject();
    const ended = await runAuto(project);
    expect(ended.err).toContain('ConstructCandidate');
    expect(ended.out).toContain('Nothing is ready: every feature has converged. Next: gen gaps');
    expect(ended.code).toBe(0);
    expect(await convergedIn(project)).toBe(2);
    expect(await readFile(join(project.cwd, 'docs/design.md'), 'utf8')).toBe('done\n');
  });

  it('stops at a review gate with exit code 3, and continues after the decision', async () => {
    const gate = edgeFile('intent→requirements', { moreConvergence: ', human_required: true' });
    const project = await createAutoProject({ [edgePath('intent_requirements')]: gate });
    const waiting = await runAuto(project, SUBJECT);
    expect(waiting.code).toBe(3);
    const review = `gen review --feature ${FEATURE_ID} --edge intent_requirements`;
    expect(waiting.out).toContain(`${SUBJECT} waits for a review.\nNext: ${review}`);
    expect((await runAuto(project)).out).toContain(review);
    const decided = await runGen(project, 'review', '--feature', FEATURE_ID, '--approve');
    expect(decided).toMatchObject({ code: 0, out: expect.stringContaining(`gen iterate ${SUBJECT}`) });
    expect((await runGen(project, 'runs')).out).toContain('DECIDED (APPROVED)');
    const ended = await runAuto(project, '--json');
    expect(ended.code).toBe(0);
    const lines = ended.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: string });
    expect(lines.map(({ status }) => status)).toEqual(['CONVERGED', 'CONVERGED', 'DONE']);
    expect(await convergedIn(project)).toBe(2);
    expect((await eventsOf(project)).filter(({ event_type }) => event_type === 'run_ended')).toHaveLength(2);
  });

  it('runs a feature that was spawned', async () => {
    const project = await createAutoProject();
    await runGen(project, 'init');
    const spawned = await runGen(
      project,
      ...['spawn', '--type', 'feature', '--id', OTHER_ID, '--profile', 'minimal', '--reason', 'wanted'],
    );
    expect(spawned.code).toBe(0);
    const subject = `${OTHER_ID}#intent_requirements`;
    const options = ['--role', 'full_stack', '--yes', '--unsandboxed'];
    const ended = await runGen(project, 'iterate', subject, ...options);
    expect(ended.out).toContain(`CONVERGED ${subject}`);
    const continued = await runAuto(project, OTHER_ID);
    expect(continued.out).toContain(`CONVERGED ${OTHER_ID}#requirements_design`);
    const unknown = await runGen(project, 'iterate', 'REQ-F-NONE-001#intent_requirements');
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('gen spawn --type feature') });
  });

  it('recommends continuing a run after a reviewer has requested changes', async () => {
    const gate = edgeFile('intent→requirements', { moreConvergence: ', human_required: true' });
    const project = await createAutoProject({ [edgePath('intent_requirements')]: gate });
    await runAuto(project, SUBJECT);
    const refined = await runGen(
      project,
      'review',
      '--feature',
      FEATURE_ID,
      '--refine',
      '--comment',
      'longer',
    );
    expect(refined.out).toContain(`Continue: gen iterate ${SUBJECT}`);
    const started = await runGen({ ...project, env: { ...project.env, GENESIS_AGENT: 'other' } }, 'start');
    expect(started.out).toContain(`Do now: gen iterate ${SUBJECT}`);
  });

  it('names the retry of a run without a candidate, and the command line that confirms commands', async () => {
    const broken = edgeFile('intent→requirements', { script: 'exit 1' });
    const project = await createAutoProject({ [edgePath('intent_requirements')]: broken });
    const unconfirmed = await runGen(project, 'iterate', '--auto', '--role', 'full_stack', '--unsandboxed');
    expect(unconfirmed.err).toContain('gen iterate --auto --role full_stack --unsandboxed --yes');
    const failed = await runAuto(project);
    expect(failed.err).toMatch(
      /Confirmed in .*:\n {2}constructor .*: sh -c 'exit 1'\n {2}has_docs: test -d docs/,
    );
    const [, id] = /Next: gen runs retry (\S+)/.exec(failed.out) ?? [];
    const retried = await runGen(project, 'runs', 'retry', String(id), '--role', 'full_stack');
    expect(retried.out).toContain(`Execute it: gen iterate ${SUBJECT} --role full_stack`);
  });

  it('runs a constructor that is a file of the project', async () => {
    const edge = edgeFile('intent→requirements').replace(/command: \[.*\]/, 'command: [./agent.sh]');
    const project = await createAutoProject({ [edgePath('intent_requirements')]: edge });
    const script = '#!/bin/sh\nmkdir -p docs && echo made > docs/login.md\n';
    await writeFile(join(project.cwd, 'agent.sh'), script, { mode: 0o755 });
    expect((await runAuto(project, FEATURE_ID)).out).toContain(`CONVERGED ${SUBJECT}`);
  });

  it('does not run an edge again while it waits for a review', async () => {
    const project = await createAutoProject();
    // Without a role the run ends, and its candidate waits for a person.
    const escalated = await runGen(project, 'iterate', SUBJECT, '--unsandboxed', '--yes');
    expect(escalated.code).toBe(3);
    expect(escalated.out).toContain(`Next: gen review --feature ${FEATURE_ID} --edge intent_requirements`);
    expect(escalated.out.replace(/\s+/g, ' ')).toContain('full_stack may converge every edge');
    const before = await eventsOf(project);
    const review = `gen review --feature ${FEATURE_ID} --edge intent_requirements`;
    for (const options of [['--role', 'full_stack'], ['--auto']]) {
      const refused = await runGen(project, 'iterate', SUBJECT, '--unsandboxed', '--yes', ...options);
      expect(refused.code).toBe(3);
      expect(refused.err).toContain(`${SUBJECT} waits for a review. Decide first: ${review}`);
    }
    expect(await eventsOf(project)).toEqual(before);
  });

  it('names the gen spawn command for an edge that is stuck', async () => {
    const never = edgeFile('intent→requirements', { command: 'test -d nowhere' });
    const project = await createAutoProject({ [edgePath('intent_requirements')]: never });
    const stuck = await runAuto(project);
    const spawn = `gen spawn --type discovery --parent ${FEATURE_ID} --edge intent_requirements --reason 'stuck on intent_requirements'`;
    expect(stuck.code).toBe(3);
    expect(stuck.out).toContain(`Next: ${spawn}`);
    const shown = await runGen(project, 'review', '--feature', FEATURE_ID);
    expect(shown.out).toContain(spawn);
    expect((await runGen(project, 'runs', '--json')).out).toContain(spawn);
    expect((await runAuto(project)).code).toBe(3);
  });

  it('stops at the expired time box of its feature', async () => {
    const timeBox = 'time_box: { duration: 1h, started: 2026-01-01T00:00:00Z, on_expiry: escalate }\n';
    const project = await createAutoProject({
      [`.ai-workspace/features/active/${FEATURE_ID}.yml`]: featureText(FEATURE_ID, timeBox),
    });
    const expired = await runAuto(project, FEATURE_ID);
    expect(expired.out).toContain(`the time box of ${FEATURE_ID} has expired`);
    expect(expired.code).toBe(3);
    expect(await convergedIn(project)).toBe(0);
  });

  it('skips edges without a constructor, and names them', async () => {
    const project = await createAutoProject({
      [edgePath('requirements_design')]: 'edge: "requirements→design"\nchecklist: []\n',
    });
    const ended = await runAuto(project);
    expect(ended.code).toBe(0);
    expect(ended.out).toContain(`Edges without a constructor: ${FEATURE_ID}#requirements_design`);
  });

  // req: ITR-017
  it('works on other edges while one waits for a person, and waits for changes with --loop', async () => {
    const gate = edgeFile('intent→requirements', {
      script: 'mkdir -p docs && date +%N > docs/$(basename $PWD).md',
      moreConvergence: ', human_required: true',
    });
    const project = await createAutoProject({
      [edgePath('intent_requirements')]: gate,
      [`.ai-workspace/features/active/${OTHER_ID}.yml`]: featureText(OTHER_ID),
    });
    const options = ['--auto', '--loop', '--unsandboxed', '--yes', '--role', 'full_stack'];
    const looping = startCommand(project, 'iterate', ...options);
    await looping.waitForErrorOutput('Waiting for changes.');
    const suspensions = (await eventsOf(project)).filter(({ event_type }) => event_type === 'run_suspended');
    expect(suspensions.map(({ subject }) => subject).sort()).toEqual([
      SUBJECT,
      `${OTHER_ID}#intent_requirements`,
    ]);
    expect((await runGen(project, 'review', '--feature', FEATURE_ID, '--approve')).code).toBe(0);
    await looping.waitForOutput(new RegExp(`CONVERGED ${FEATURE_ID}#requirements_design`));
    looping.stop('SIGTERM');
    const ended = await looping.ended;
    expect(ended.code).toBe(130);
    expect(ended.err).toContain('continues from the last completed step');
  });

  it('skips with --loop an edge that cannot be run, unless the command line names it', async () => {
    const project = await createAutoProject({
      '.ai-workspace/profiles/bare.yml': PROFILE.replace('minimal', 'bare').replace(', deterministic', ''),
      [`.ai-workspace/features/active/${OTHER_ID}.yml`]: featureText(OTHER_ID).replace('minimal', 'bare'),
      [`.ai-workspace/features/active/${JUDGED_ID}.yml`]: featureText(JUDGED_ID, JUDGED_CHECK),
    });
    const named = await runAuto(project, '--loop', `${OTHER_ID}#intent_requirements`);
    expect([named.code, named.err]).toEqual([1, expect.stringContaining('has no required check')]);
    const options = ['--auto', '--loop', '--unsandboxed', '--yes', '--role', 'full_stack'];
    const looping = startCommand(project, 'iterate', ...options);
    await looping.waitForErrorOutput('Waiting for changes.');
    expect(await convergedIn(project)).toBe(2);
    looping.stop('SIGTERM');
    const { code, err } = await looping.ended;
    expect(code).toBe(130);
    const text = err.replace(/\s+/g, ' ');
    for (const id of [OTHER_ID, JUDGED_ID]) expect(text).toContain(`${id}#intent_requirements was not run:`);
  });

  it('redraws the machine in place on a terminal', async () => {
    const project = { ...(await createAutoProject()), columns: 60 };
    const args = ['--unsandboxed', '--yes', '--role', 'full_stack'];
    const { out, err, code } = await runGen(project, 'iterate', SUBJECT, ...args);
    expect(code).toBe(0);
    expect(err).not.toContain('ConstructCandidate');
    expect(out).toMatch(/\[\d+A/);
    const lastDrawing = out.slice(out.lastIndexOf('[0J'));
    expect(lastDrawing).toContain('ConstructCandidate');
    expect(lastDrawing).toContain('has_docs  pass');
    expect(lastDrawing).toContain('CONVERGED');
  });

  it('refuses options that cannot be combined', async () => {
    const project = await createAutoProject();
    for (const argv of [['--loop', SUBJECT], ['--auto', '--dry-run'], []])
      expect((await runGen(project, 'iterate', ...argv)).code, argv.join(' ')).toBe(2);
  });
});
