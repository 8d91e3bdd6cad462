/**
 * Who: someone who can push to a repository that contains a workspace, or who offers one to clone.
 *
 * What they want: that `gen iterate` runs their command on the victim's machine, with the victim's environment: the
 * `command` of a constructor or an evaluator in `engine.yml`, such as `curl … | sh`.
 *
 * What stops them: a command runs only after a person has confirmed it once for this project. Confirmations are stored
 * outside of the repository, under the digest of the command, so a changed command must be confirmed again. The engine
 * looks them up each time before it starts a command, also a command of a check, because a resumed run has the commands of
 * the plan with which another person started the run. `src/cli/check.test.ts` tests the commands of `gen check`.
 */
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runGen, startCommand, type TerminalOptions } from '../../src/cli/testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from '../../src/cli/testing/workspace.js';

const SUBJECT = `${FEATURE_ID}#intent_requirements`;
const EDGE_FILE = '.ai-workspace/graph/edges/intent_requirements.yml';
const ENGINE_FILE = '.ai-workspace/engine.yml';
const PROFILE = `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`;
const check = (name: string, type: string, more = '') =>
  `  - { name: ${name}, type: ${type}, criterion: "It is there", required: true${more} }\n`;
const edgeFile = (...checks: string[]) =>
  `edge: "intent→requirements"\nchecklist:\n${checks.join('')}convergence: { max_iterations: 1 }\n`;
const HAS_DOCS = check('has_docs', 'deterministic', ', command: "test -d docs"');
const JUDGED = check('judged', 'agent');

type ClonedProject = TerminalOptions & { readonly cwd: string };

async function projectWith(engine: string, ...checks: string[]): Promise<ClonedProject> {
  const { cwd, env } = await createProject({
    '.ai-workspace/profiles/minimal.yml': PROFILE,
    [EDGE_FILE]: edgeFile(...checks),
    [ENGINE_FILE]: engine,
  });
  return { cwd, env: { ...env, PATH: process.env.PATH ?? '' } };
}

const commandSection = (section: 'construct' | 'evaluate', script: string) =>
  `${section}: { type: command, command: [sh, -c, ${JSON.stringify(script)}] }\n`;
const iterate = (project: ClonedProject, ...argv: string[]) =>
  runGen(project, 'iterate', ...argv, '--unsandboxed', '--role', 'full_stack');
const runsOf = async (project: ClonedProject) =>
  (JSON.parse((await runGen(project, 'runs', '--json')).out) as { runs: { status: string }[] }).runs;
const hasFile = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const singleLine = (text: string) => text.replace(/\s+/g, ' ');

describe('the commands of constructors and evaluators', { timeout: 120_000 }, () => {
  // The file `mark` shows that the command was run.
  const download = (mark: string) =>
    `touch ${mark}; curl -s file:///dev/null | sh; mkdir docs; echo > docs/a.md`;

  it('are run only after a person has confirmed them, and must be confirmed again when they change', async () => {
    const project = await projectWith('', HAS_DOCS);
    const mark = join(project.cwd, 'was-run');
    await writeProjectFile(project.cwd, ENGINE_FILE, commandSection('construct', download(mark)));
    for (const target of [[SUBJECT], ['--auto'], ['--auto', SUBJECT]]) {
      const refused = await iterate(project, ...target);
      expect(refused.code).toBe(3);
      expect(singleLine(refused.err)).toContain(
        `constructor (no sandbox, with your environment): sh -c 'touch ${mark}; curl`,
      );
      expect(singleLine(refused.err)).toContain('2 commands of this repository must be confirmed');
    }
    const json = await iterate(project, SUBJECT, '--json');
    expect(JSON.parse(json.out)).toMatchObject({ code: 'COMMAND_NOT_CONFIRMED' });
    expect([await hasFile(mark), await runsOf(project)]).toEqual([false, []]);
    expect((await iterate(project, SUBJECT, '--yes')).out).toContain(`CONVERGED ${SUBJECT}`);
    expect(await hasFile(mark)).toBe(true);
    await rm(mark);
    await writeProjectFile(project.cwd, ENGINE_FILE, commandSection('construct', `${download(mark)}; true`));
    const changed = await iterate(project, SUBJECT);
    expect([changed.code, await hasFile(mark)]).toEqual([3, false]);
    expect(singleLine(changed.err)).toContain('1 command of this repository must be confirmed');
  });

  it('are not confirmed by a check with the same words, which runs in a sandbox', async () => {
    const project = await projectWith('construct: { type: command, command: [test, -d, docs] }\n', HAS_DOCS);
    await runGen(project, 'check', SUBJECT, '--yes', '--unsandboxed');
    const refused = await iterate(project, SUBJECT);
    expect(refused.code).toBe(3);
    expect(singleLine(refused.err)).toContain('(no sandbox, with your environment): test -d docs');
  });

  it('are looked up again before each start: an evaluator that is no longer confirmed is not run', async () => {
    const project = await projectWith('', JUDGED);
    const mark = join(project.cwd, 'was-run');
    const confirmations = join(project.cwd, '.home', 'confirmed-commands');
    const construct = commandSection('construct', `mkdir docs; echo > docs/a.md; rm -r ${confirmations}`);
    await writeProjectFile(project.cwd, ENGINE_FILE, construct + commandSection('evaluate', `touch ${mark}`));
    const ended = await iterate(project, SUBJECT, '--yes');
    expect(singleLine(ended.err)).toContain("evaluator (no sandbox, with your environment): sh -c 'touch");
    expect([ended.code, await hasFile(mark)]).toEqual([3, false]);
    const [run] = JSON.parse((await runGen(project, 'runs', '--json')).out).runs;
    expect(singleLine((await runGen(project, 'runs', 'show', run.run_id)).out)).toContain(
      'is not confirmed here',
    );
  });
});

describe('the commands of checks', { timeout: 120_000 }, () => {
  it('of a resumed run are not run if only those of the present files are confirmed', async () => {
    const project = await projectWith(commandSection('construct', 'mkdir docs; echo > docs/a.md'), HAS_DOCS);
    const mark = join(project.cwd, 'was-run');
    const hostile = check(
      'has_docs',
      'deterministic',
      `, shell: true, command: ${JSON.stringify(`touch ${mark}; sleep 60`)}`,
    );
    await writeProjectFile(project.cwd, EDGE_FILE, edgeFile(hostile));
    const interrupted = startCommand(
      project,
      'iterate',
      SUBJECT,
      '--unsandboxed',
      '--yes',
      '--role',
      'full_stack',
    );
    await interrupted.waitForErrorOutput('DeterministicChecks');
    interrupted.stop('SIGTERM');
    expect((await interrupted.ended).code).toBe(130);
    // The same project of a person who has confirmed nothing yet, and sees the harmless command.
    await rm(join(project.cwd, '.home', 'confirmed-commands'), { recursive: true });
    await rm(mark, { force: true });
    await writeProjectFile(project.cwd, EDGE_FILE, edgeFile(HAS_DOCS));
    const resumed = await iterate(project, SUBJECT, '--yes');
    expect(singleLine(resumed.err)).toContain('has_docs: test -d docs');
    expect([resumed.code, await hasFile(mark)]).toEqual([3, false]);
    const [run] = JSON.parse((await runGen(project, 'runs', '--json')).out).runs;
    expect(singleLine((await runGen(project, 'runs', 'show', run.run_id)).out)).toContain(
      'is not confirmed here',
    );
  });
});
