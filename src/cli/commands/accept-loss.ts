import { defineCommand } from '../command.js';
import { wrongUsage } from '../exit.js';
import { collectOption } from '../option-parsers.js';
import { defaultStore } from '../store.js';

export const acceptLoss = defineCommand('accept-loss', {
  description:
    'accept the loss of the end of a log, so that the rest can be used; earlier claims are refused',
  options: {
    '--store <url>': 'store URL (default: GENESIS_STORE, or the local store)',
    '--anchor <file|url|store:url>':
      'the anchors, which cover more than the log has (default: GENESIS_AUDIT_ANCHOR)',
    '--reason <text>': { about: 'reason, recorded in the log', required: true },
    '--key <key_id>': {
      about: 'also trust this audit key, even if it signed none of the anchors; repeatable',
      parse: collectOption,
    },
  },
  help: '\nStop every coordinator of the store first. The loss is recorded in every project of the store; in a database, only in the\nprojects of the tenants that the anchors name. New generations start higher than any that may have been granted in the lost\nperiod, and earlier claims are no longer valid.\n\nExample:\n  gen audit accept-loss --anchor /mnt/other/anchors.jsonl --reason "disk failed, restored the backup of Monday"',
  async run(
    context,
    { store: url = defaultStore(context.io), anchor = context.io.env.GENESIS_AUDIT_ANCHOR, reason, key = [] },
  ) {
    if (anchor === undefined)
      throw wrongUsage('Pass the checkpoints that were kept elsewhere: --anchor FILE.');
    // Imported lazily, to keep --help fast.
    const { runAcceptLoss } = await import('../audit/accept-loss.js');
    await runAcceptLoss(context, { url, anchor, reason, trustedKeys: key });
  },
});
