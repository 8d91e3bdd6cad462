import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runGen } from './testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from './testing/workspace.js';

const EDGE = 'intent_requirements';
const SUBJECT = `${FEATURE_ID}#${EDGE}`;
/** The constructor. Its candidates fail the check until a reviewer says what to write. */
const AGENT = `mkdir -p docs
case "$(cat)" in
  *"write about login"*) echo login > docs/login.md ;;
  *) echo nothing > docs/login.md ;;
esac
`;

async function openProject() {
  const terminal = await createProject({
    'agent.sh': AGENT,
    '.ai-workspace/profiles/minimal.yml': `profile: minimal
graph: {include: ["intent→requirements"]}
evaluators: {default: [agent, deterministic]}
`,
  });
  await writeProjectFile(
    terminal.cwd,
    `.ai-workspace/graph/edges/${EDGE}.yml`,
    `edge: "intent→requirements"
checklist:
  - {name: has_login, type: deterministic, criterion: "It has a login", required: true, command: "grep -rq login docs"}
construct: {type: command, command: [sh, ${join(terminal.cwd, 'agent.sh')}]}
convergence: {max_iterations: 1}
`,
  );
  const env = { ...terminal.env, PATH: process.env.PATH ?? '', NO_COLOR: '1' };
  return (...argv: string[]) => runGen({ ...terminal, env }, ...argv);
}

it('refuses to approve a candidate whose checks failed, and the next run reads the requested changes', async () => {
  const run = await openProject();
  const iterate = () => run('iterate', SUBJECT, '--role', 'architect', '--unsandboxed', '--yes');
  const review = (...argv: string[]) => run('review', '--feature', FEATURE_ID, ...argv);
  expect(await iterate()).toMatchObject({ code: 3, out: expect.stringContaining('MAX_ITERATIONS') });

  const shown = await review();
  expect(shown.out).toMatch(/Required checks that have not passed\s+has_login: It failed/);
  expect(shown.out).toMatch(/What was tried: gen runs show \S+/);
  expect(shown.out).toContain('--refine --comment TEXT');
  expect(shown.out).toContain('+++ b/docs/login.md\n@@ -0,0 +1 @@\n+nothing');
  expect(shown.out).not.toContain('--approve');

  const approved = await review('--approve', '--json');
  expect([approved.code, JSON.parse(approved.out)]).toMatchObject([
    1,
    { reason: 'NOT_CONVERGED', next: expect.stringMatching(/has_login.*Request changes with a comment/) },
  ]);
  expect((await review('--approve')).err).not.toContain('has changed since');

  const [{ run_id }] = JSON.parse((await run('runs', '--json')).out).runs;
  expect((await run('runs', 'retry', run_id, '--role', 'architect')).code).toBe(0);
  const refined = await review('--refine', '--comment', 'write about login');
  expect(refined).toMatchObject({ code: 0, out: expect.stringContaining(`gen iterate ${SUBJECT}`) });
  // A person who requested changes decides on the next candidate.
  expect(await iterate()).toMatchObject({ code: 3, out: expect.stringContaining('NOT_AUTHORISED') });
  expect(await review('--approve')).toMatchObject({
    code: 0,
    out: expect.stringContaining('The edge has converged with this candidate.'),
  });
}, 120_000);
