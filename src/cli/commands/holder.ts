import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { fencingFields, HANDLE_OPTIONS, resolveHandle } from '../handle.js';
import { parseSecondsOption } from '../option-parsers.js';
import { untilText } from '../output/text.js';
import { showDecision, unwrapReply } from '../replies.js';

// The commands for the holder of a claim. They use the handle that was stored at the grant, or the one in their options.

export const renewCommand = defineCommand('renew <id>', {
  description: 'renew the lease',
  options: {
    ...HANDLE_OPTIONS,
    '--lease <seconds>': {
      about: 'new lease duration in seconds (or 90s, 5m, 2h)',
      parse: parseSecondsOption,
    },
  },
  async run(context, taskId, options) {
    const handle = await resolveHandle(context, taskId, options);
    const lease_duration_seconds = options.lease ?? handle.lease_duration_seconds ?? undefined;
    const genesis = await context.genesis();
    const reply = await genesis.renewLease({
      ...fencingFields(handle),
      expected_generation: handle.generation,
      ...withoutUndefined({ lease_duration_seconds }),
    });
    showDecision(context, unwrapReply(reply), ({ new_expiry }) =>
      new_expiry === null
        ? `${taskId} is renewed, without a lease`
        : `${taskId} is renewed ${untilText(new_expiry)}`,
    );
  },
});

export const releaseClaimCommand = defineCommand('release <id>', {
  description: 'release the claim',
  options: { ...HANDLE_OPTIONS, '--error <message>': 'release the claim as failed, with this error message' },
  async run(context, taskId, options) {
    const handle = await resolveHandle(context, taskId, options);
    const failure = options.error === undefined ? {} : { reason: 'ERROR' as const, message: options.error };
    const request = { ...fencingFields(handle), expected_generation: handle.generation, ...failure };
    const reply = unwrapReply(await (await context.genesis()).releaseClaim(request));
    if (reply.success) await context.state.removeHandle(await context.target(), handle);
    showDecision(context, reply, () => `${taskId} is released`);
  },
});

export const noteCommand = defineCommand('note <id> <text>', {
  description: 'leave a note for the next holder',
  options: HANDLE_OPTIONS,
  async run(context, taskId, text, options) {
    const handle = await resolveHandle(context, taskId, options);
    const request = { ...fencingFields(handle), generation: handle.generation, text };
    const reply = await (await context.genesis()).note(request);
    showDecision(context, unwrapReply(reply), () => `Note added to ${taskId}`);
  },
});
