import { join, resolve } from 'node:path';
import type { Runner } from '../../core/contract/runners.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { wrongUsage } from '../exit.js';
import type { Io } from '../io.js';
import { formatUtc } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { userFolder } from '../state/user-folder.js';

const KEY_FILE = 'runner-key.pem';

const keyFile = (io: Io, key: string | undefined): string =>
  key === undefined ? join(userFolder(io), KEY_FILE) : resolve(io.cwd, key);

const enrol = defineCommand('enrol', {
  description: 'enrol this machine as a runner, whose signed check results count as evidence',
  options: {
    '--label <text>': 'label of the runner',
    '--key <file>': `file of the runner's private key; created if it does not exist (default: ${KEY_FILE} in the user folder)`,
  },
  help: '\nNeeds the credential of an admin. The private key stays in its file: agents must not be able to read it, so use a\nseparate account or machine. To run, the runner needs only an API key with the role runner.\n\nExamples:\n  gen runner enrol --label "build host"\n  gen key create --role runner --label "build host"',
  async run(context, { label, key }) {
    const { io } = context;
    const file = keyFile(io, key);
    // Imported lazily, to keep --help fast.
    const { openRunnerKey } = await import('../runner/runner-key.js');
    const { public_key, isNew } = await openRunnerKey(file);
    const client = await context.genesis();
    const runner = unwrapReply(await client.enrolRunner({ public_key, ...withoutUndefined({ label }) }));
    context.printReply({ ...runner, key_file: file }, () => [
      `Runner ${runner.runner_id} is enrolled.`,
      `Its private key ${isNew ? 'was written to' : 'is in'} ${file}. Keep it where agents cannot read it.`,
    ]);
  },
});

const run = defineCommand('run', {
  description: 'run the checks of candidates, and sign and record the results',
  options: {
    '--repo <path>': 'git repository with the base; agents must not be able to write to it',
    '--ref <name>': { about: 'branch or commit of the repository', default: 'HEAD' },
    '--root <dir>': 'folder with the base, instead of a repository',
    '--key <file>': `file of the runner's private key (default: ${KEY_FILE} in the user folder)`,
    '--once': 'check the candidates that wait now, then exit',
    '--unsandboxed': 'run the commands without a sandbox, with your access to files',
  },
  help: '\nNeeds a credential of the role runner. The runner fetches each candidate from the server and lays it over the base that\nthe runner itself resolves. Stop it with Ctrl-C.\n\nExamples:\n  gen runner run --repo /srv/shop.git --ref main\n  gen runner run --root /srv/shop --once',
  async run(context, { repo, ref: reference, root, key, once = false, unsandboxed = false }) {
    const { io } = context;
    if ((repo === undefined) === (root === undefined)) throw wrongUsage('Pass --repo PATH or --root DIR.');
    const base =
      repo === undefined ? { root: resolve(io.cwd, root ?? '') } : { repo: resolve(io.cwd, repo), reference };
    // Imported lazily, to keep --help fast.
    const { runRunner } = await import('../runner/run-runner.js');
    await runRunner(context, {
      ...{ key_file: keyFile(io, key), base },
      ...{ is_once: once, is_unsandboxed: unsandboxed },
    });
  },
});

const list = defineCommand('list', {
  description: 'list the runners of the project',
  async run(context) {
    const reply = unwrapReply(await (await context.genesis()).runners());
    context.printReply(reply, ({ runners }) => {
      if (runners.length === 0) return 'There are no runners. Enrol one: gen runner enrol --label NAME';
      return context.table<Runner>(runners, [
        { title: 'Runner', cell: ({ runner_id }) => runner_id },
        { title: 'State', cell: ({ state }) => state },
        { title: 'Label', cell: ({ label }) => label ?? '', is_flexible: true },
        { title: 'Enrolled by', cell: ({ enrolled_by }) => enrolled_by, is_flexible: true },
        { title: 'Enrolled (UTC)', cell: ({ enrolled_at }) => formatUtc(enrolled_at) },
        { title: 'Revoked (UTC)', cell: ({ revoked_at }) => formatUtc(revoked_at) },
      ]);
    });
  },
});

const candidates = defineCommand('candidates', {
  description: 'list the candidates that wait for the evidence of a runner',
  async run(context) {
    const reply = unwrapReply(await (await context.genesis()).candidates());
    context.printReply(reply, ({ candidates: waiting }) => {
      if (waiting.length === 0) return 'No candidate waits.';
      return context.table(waiting, [
        { title: 'Edge', cell: ({ task_id }) => task_id },
        { title: 'Generation', cell: ({ generation }) => String(generation) },
        { title: 'Candidate', cell: ({ candidate_sha256 }) => candidate_sha256.slice(0, 12) },
        { title: 'Checks', cell: ({ checks }) => String(checks.length) },
        { title: 'Evidence of', cell: ({ evidence_of }) => evidence_of.join(', '), is_flexible: true },
      ]);
    });
  },
});

const revoke = defineCommand('revoke <runner_id>', {
  description: 'revoke a runner; its evidence no longer counts',
  async run(context, runnerId) {
    const reply = unwrapReply(await (await context.genesis()).revokeRunner(runnerId));
    context.printReply(reply, () => `Runner ${runnerId} is revoked.`);
  },
});

export const runnerCommand = defineCommand('runner', {
  description:
    'manage runners, whose signed check results decide the checks if the policy evidence is verified',
  subcommands: [enrol, run, list, candidates, revoke],
});
