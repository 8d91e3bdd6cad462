import type { Mutant } from '../mutant.js';

const SERIALISER = 'src/workspace/inbox/serialiser.ts';

/** Faults in the exactly-once handling of inbox commands and in their outcomes. */
export const INBOX_MUTANTS: readonly Mutant[] = [
  {
    name: 'inbox-file-gone-before-decided',
    file: SERIALISER,
    find: "      this.options.onStep?.('read', found);\n",
    replace: "      this.options.onStep?.('read', found);\n      await inbox.remove(found.name);\n",
    why: 'A crash loses the command: its file is gone, and the log has nothing.',
    mode: 'inbox',
  },
  {
    name: 'inbox-request-without-id',
    file: 'src/workspace/inbox/command.ts',
    find: '  session_id,\n  request_id,\n});',
    replace: '  session_id,\n  request_id: undefined && request_id,\n});',
    why: 'Nothing in the log tells which command was done, and it is done again.',
    mode: 'inbox',
  },
  {
    name: 'inbox-nothing-recalled',
    file: SERIALISER,
    find: 'recalled[at] ?? this.isolateFailure',
    replace: 'this.isolateFailure',
    why: 'What was decided before a crash is decided again.',
    mode: 'inbox',
  },
  {
    name: 'inbox-told-before-decided',
    file: SERIALISER,
    find: '    const replies = await this.decide(turns, stuck);\n',
    replace:
      "    for (const { inbox, command } of turns) await inbox.putOutcome(command.name, { ok: true, reply: { reason: 'GRANTED' } });\n    const replies = await this.decide(turns, stuck);\n",
    why: 'An agent is told what the log does not have.',
    mode: 'inbox',
  },
];
