import type { Mutant } from '../mutant.js';

const SERIALISER = 'src/workspace/inbox/serialiser.ts';

/** Faults in the exactly-once handling of inbox commands and in their outcomes. */
export const INBOX_MUTANTS: readonly Mutant[] = [
  {
    name: 'inbox-file-gone-before-decided',
    file: SERIALISER,
    find: "      this.options.onStep?.('read', next);\n",
    replace: "      this.options.onStep?.('read', next);\n      await inbox.remove(next.name);\n",
    harm: 'A crash loses the command: its file is removed, and the log has no event.',
    mode: 'inbox',
  },
  {
    name: 'inbox-request-without-id',
    file: 'src/workspace/inbox/command.ts',
    find: '  return { task_id, session_id, request_id };',
    replace: '  return { task_id, session_id, request_id: undefined && request_id };',
    harm: 'The log does not identify the executed command, so it is executed again.',
    mode: 'inbox',
  },
  {
    name: 'inbox-nothing-recalled',
    file: SERIALISER,
    find: 'recalled[index] ?? execute(turn)',
    replace: 'execute(turn)',
    harm: 'A command that was decided before a crash is decided again.',
    mode: 'inbox',
  },
  {
    name: 'inbox-told-before-decided',
    file: SERIALISER,
    find: '    const replies = await this.decide(turns, pass);\n',
    replace:
      "    for (const { inbox, command } of turns) await inbox.putOutcome(command.name, { ok: true, reply: { reason: 'GRANTED' } });\n    const replies = await this.decide(turns, pass);\n",
    harm: 'An agent gets an outcome that is not in the log.',
    mode: 'inbox',
  },
];
