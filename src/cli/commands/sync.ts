import type { AddCommands } from '../command-action.js';

const REMOTE_OPTION = [
  '--remote <url>',
  'a server or a store; the one of the last time where it is left out',
] as const;

export const addSync: AddCommands = (program, wrapAction) => {
  const sync = program
    .command('sync')
    .description('keep the log of this workspace in step with a coordinator’s')
    .addHelpText(
      'after',
      '\nThe coordinator is the authority: what was claimed here offline is proposed to it, and may be refused.\n\nExamples:\n  gen sync status --remote https://fleet.example.com\n  gen sync push\n  gen sync pull',
    );
  sync
    .command('push')
    .description('tell the remote, in order, what was done here without it')
    .option(...REMOTE_OPTION)
    .addHelpText(
      'after',
      '\nEach event is sent as the command that would have made it, once, however often this is run. What rests on a claim\nthat is refused is not sent. Everything stays here. Exit 1 where something was refused.\n\nExamples:\n  gen sync push --remote https://fleet.example.com\n  gen sync push --remote postgres://fleet@db/fleet',
    )
    .action(
      wrapAction(async (context, options) =>
        (await import('../sync/run-sync.js')).pushHere(context, options),
      ),
    );
  sync
    .command('pull')
    .description('make the log here the same as the remote’s')
    .option(...REMOTE_OPTION)
    .option('--keep-aside', 'put aside what was done here, also where the remote has not heard of it')
    .addHelpText(
      'after',
      '\nWhat was done here goes to .ai-workspace/events/offline/ first. A log that was deleted is built anew. Interrupted, it\ngoes on when it is run again.\n\nExamples:\n  gen sync pull\n  gen sync pull --keep-aside',
    )
    .action(
      wrapAction(async (context, options) =>
        (await import('../sync/run-sync.js')).pullHere(context, options),
      ),
    );
  sync
    .command('status')
    .description('how far apart the two logs are')
    .option(...REMOTE_OPTION)
    .addHelpText('after', '\nExamples:\n  gen sync status\n  gen sync status --json')
    .action(
      wrapAction(async (context, options) =>
        (await import('../sync/run-sync.js')).statusHere(context, options),
      ),
    );
};
