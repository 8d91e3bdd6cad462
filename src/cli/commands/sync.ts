import { defineCommand } from '../command.js';

const REMOTE_OPTION = {
  '--remote <url>': 'URL of a server or a store (default: the remote of the last sync)',
} as const;

// Imported lazily, to keep --help fast.
const runSync = () => import('../sync/run-sync.js');

const push = defineCommand('push', {
  description: 'send the offline events to the remote, in order',
  options: REMOTE_OPTION,
  help: '\nEach event is sent once, as the command that produces it, however often you push. Events that depend on a refused\nclaim are not sent. The local log is not changed. Exit code 1: something was refused.\n\nExamples:\n  gen sync push --remote https://fleet.example.com\n  gen sync push --remote postgres://fleet@db/fleet',
  run: async (context, { remote }) => (await runSync()).pushHere(context, remote),
});

const pull = defineCommand('pull', {
  description: 'replace the local log with the remote log',
  options: {
    ...REMOTE_OPTION,
    '--keep-aside':
      'replace the local log although some events were not pushed; they stay only in the saved file',
  },
  help: '\nThe offline events are saved to .ai-workspace/events/offline/ first. A deleted log is rebuilt. An interrupted pull\ncontinues when it is run again.\n\nExamples:\n  gen sync pull\n  gen sync pull --keep-aside',
  run: async (context, { remote, keepAside = false }) =>
    (await runSync()).pullHere(context, remote, keepAside),
});

const status = defineCommand('status', {
  description: 'compare the two logs',
  options: REMOTE_OPTION,
  help: '\nExamples:\n  gen sync status\n  gen sync status --json',
  run: async (context, { remote }) => (await runSync()).statusHere(context, remote),
});

export const syncCommand = defineCommand('sync', {
  description: 'synchronise the log of this workspace with a coordinator',
  help: '\nThe coordinator is the authority: claims made offline are proposed to it, and may be refused.\n\nExamples:\n  gen sync status --remote https://fleet.example.com\n  gen sync push\n  gen sync pull',
  subcommands: [push, pull, status],
});
