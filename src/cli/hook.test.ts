import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';
import { unwrap } from '../../test/support/coordinator-harness.js';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { startHarness } from './testing/cli-harness.js';
import { runGen } from './testing/terminal.js';

const PROJECT = { tenant_id: 'default', project_id: 'shop' };

/** A server with a plan and a claim, and a function that runs a hook as a client does. */
async function startWithClaim(lease_duration_seconds = 300) {
  const { terminal, server } = await startHarness();
  const { coordinator } = server;
  await runGen(terminal, 'plan', 'import', 'plan.yaml');
  const { claim } = unwrap(
    await coordinator.claims.next(PROJECT, { agent_id: 'alpha', session_id: 's1', lease_duration_seconds }),
  );
  const { id: claim_id = '', task_id = '', generation = 0, session_id = '' } = claim ?? {};
  const handle = { task_id, generation, claim_id, session_id };
  const env = { ...terminal.env, GENESIS_HOME: `${terminal.cwd}/mine`, GENESIS_PROJECT: 'shop' };
  const runHook = async (name: 'renew' | 'handles', event: object): Promise<string> => {
    const ran = await runGen({ ...terminal, env, stdin: JSON.stringify(event) }, 'hook', name);
    expect(ran).toMatchObject({ code: 0, err: '' });
    const { hookSpecificOutput: reply } = JSON.parse(ran.out);
    if (reply !== undefined) expect(reply.hookEventName).toBe((event as typeof toolEvent).hook_event_name);
    return reply?.additionalContext ?? '';
  };
  const toolEvent = { session_id: 'conversation-1', hook_event_name: 'PostToolUse', tool_response: {} };
  const grantEvent = {
    ...toolEvent,
    tool_response: [{ type: 'text', text: JSON.stringify({ success: true, handle }) }],
  };
  const countRenewals = async () => {
    const { events } = unwrap(await coordinator.feed.page(PROJECT, { type: 'LEASE_RENEWED' }));
    return events.length;
  };
  return { terminal, env, coordinator, handle, runHook, toolEvent, grantEvent, countRenewals };
}

test('renews the claims of a conversation after a tool call, whatever form the tool’s reply has', async () => {
  const { runHook, toolEvent, grantEvent, handle, countRenewals } = await startWithClaim();
  expect(await runHook('renew', toolEvent)).toBe('');
  expect(await countRenewals()).toBe(0);
  expect(await runHook('renew', grantEvent)).toBe('');
  expect(await countRenewals()).toBe(1);
  const printed = {
    ...toolEvent,
    session_id: 'conversation-2',
    tool_response: { stdout: `took {"claim": 1} ${JSON.stringify(handle)}\n` },
  };
  await runHook('renew', printed);
  expect(await countRenewals()).toBe(2);
});

test('does not renew a lease that was renewed shortly before', async () => {
  const time = FrozenTime.begin();
  const { runHook, toolEvent, grantEvent, countRenewals } = await startWithClaim();
  await runHook('renew', grantEvent);
  time.advance(59);
  await runHook('renew', toolEvent);
  expect(await countRenewals()).toBe(1);
  time.advance(1);
  await runHook('renew', toolEvent);
  expect(await countRenewals()).toBe(2);
});

test('never renews the claims of another conversation', async () => {
  const { runHook, toolEvent, grantEvent, countRenewals } = await startWithClaim();
  await runHook('renew', grantEvent);
  await runHook('handles', {
    ...toolEvent,
    session_id: 'conversation-2',
    hook_event_name: 'SessionStart',
  });
  expect(await countRenewals()).toBe(1);
});

test('lists the handles when a conversation continues after compaction', async () => {
  const { runHook, toolEvent, grantEvent, handle } = await startWithClaim();
  await runHook('renew', grantEvent);
  const compacted = { ...toolEvent, hook_event_name: 'SessionStart', source: 'compact' };
  expect(await runHook('handles', compacted)).toContain(JSON.stringify(handle));
  expect(await runHook('renew', toolEvent)).toBe('');
});

test('lists the handles after the next tool call if the output before compaction is lost', async () => {
  const { runHook, toolEvent, grantEvent, handle } = await startWithClaim();
  const [before, after] = ['PreCompress', 'AfterTool'].map((hook_event_name) => ({
    ...toolEvent,
    hook_event_name,
  }));
  await runHook('renew', grantEvent);
  expect(await runHook('handles', before as object)).toBe('');
  expect(await runHook('renew', after as object)).toContain(JSON.stringify(handle));
  expect(await runHook('renew', after as object)).toBe('');
});

test('reports a lost claim once', async () => {
  const { runHook, toolEvent, grantEvent, handle, coordinator } = await startWithClaim();
  await runHook('renew', grantEvent);
  const reason = 'it hangs';
  await coordinator.decisions.operate(PROJECT, handle.task_id, 'force_release', {
    expected_generation: 1,
    reason,
  });
  await coordinator.claims.claimTask(PROJECT, {
    task_id: handle.task_id,
    agent_id: 'beta',
    session_id: 's2',
  });
  const started = { ...toolEvent, hook_event_name: 'SessionStart' };
  expect(await runHook('handles', started)).toContain(`no longer hold ${handle.task_id}`);
  expect(await runHook('handles', started)).toBe('');
});

test('forgets a submitted claim silently', async () => {
  const { runHook, toolEvent, grantEvent, handle, coordinator } = await startWithClaim();
  await runHook('renew', grantEvent);
  await coordinator.holder.submitResult(PROJECT, { ...handle, result_data: 1 });
  expect(await runHook('handles', { ...toolEvent, hook_event_name: 'SessionStart' })).toBe('');
});

test('exits with 0 and an empty reply on invalid input and on every failure', async () => {
  const { terminal, env, grantEvent } = await startWithClaim();
  const nowhere = { ...env, GENESIS_URL: 'http://127.0.0.1:1' };
  for (const stdin of ['', 'not JSON', '7']) {
    expect(await runGen({ ...terminal, env, stdin }, 'hook', 'renew')).toMatchObject({
      code: 0,
      out: '{}\n',
    });
  }
  const stdin = JSON.stringify(grantEvent);
  const { GENESIS_PROJECT: _, ...unnamed } = env;
  const elsewhere = { cwd: `${terminal.cwd}/..`, env: { ...unnamed, GENESIS_HOME: `${terminal.cwd}/other` } };
  expect(await runGen({ ...elsewhere, stdin }, 'hook', 'renew')).toMatchObject({ code: 0, out: '{}\n' });
  expect(await runGen({ ...terminal, env: nowhere, stdin }, 'hook', 'renew')).toMatchObject({
    code: 0,
    out: '{}\n',
  });
});

/** Runs the built program, as a client does, and returns its output, with a line for each module that it loads. */
async function runBuilt(
  env: Readonly<Record<string, string>>,
  stdin: string,
  ...argv: string[]
): Promise<string> {
  const main = join(inject('built'), 'dist/cli/main.js');
  const preload = `data:text/javascript,${encodeURIComponent(LOG_LOADED_MODULES)}`;
  const child = spawn(process.execPath, ['--import', preload, main, 'hook', ...argv], {
    env: { PATH: '', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(stdin);
  return text(child.stdout);
}
const LOG_LOADED_MODULES = `import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`
import { writeSync } from 'node:fs';
export async function load(url, context, next) {
  if (url.startsWith('file:')) writeSync(1, 'loaded ' + url + '\\\\n');
  return next(url, context);
}\`));`;

test('the built hook renews, and loads neither a library nor the rest of the program', async () => {
  const { env, grantEvent, toolEvent, countRenewals } = await startWithClaim();
  const target = ['--url', env.GENESIS_URL, '--tenant', 'default', '--project', 'shop'];
  const home = { GENESIS_HOME: env.GENESIS_HOME };
  const printed = await runBuilt(home, JSON.stringify(grantEvent), 'renew', ...target);
  expect(printed.split('\n')).toContain('{}');
  expect(await countRenewals()).toBe(1);
  const loaded = [...printed.matchAll(/^loaded .*\/(?:dist|node_modules)\/(.*)$/gm)].map(([, file]) => file);
  expect(loaded).toContain('cli/hook/post-json.js');
  expect(loaded.filter((file) => /program|context|commander|zod/.test(file ?? ''))).toEqual([]);
  expect(loaded.length).toBeLessThan(20);
  expect(await runBuilt(home, JSON.stringify(toolEvent), 'renew', ...target)).not.toContain('post-json');
});

test('the built hook finds the server and the project itself if the command line names none', async () => {
  const { env, terminal, grantEvent, toolEvent, countRenewals } = await startWithClaim();
  const unnamed = { GENESIS_HOME: env.GENESIS_HOME, GENESIS_URL: env.GENESIS_URL, HOME: terminal.cwd };
  await runGen({ ...terminal, env: unnamed }, 'plan', 'import', 'plan.yaml');
  expect(await runBuilt(unnamed, JSON.stringify(toolEvent), 'renew')).not.toMatch(/zod|commander/);
  expect(await runBuilt(unnamed, JSON.stringify(grantEvent), 'renew')).toMatch(/^\{\}$/m);
  expect(await countRenewals()).toBe(1);
});
