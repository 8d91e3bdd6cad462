import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { wrongUsage } from '../exit.js';
import { fencingFields, HANDLE_OPTIONS, resolveHandle } from '../handle.js';
import { parseWholeNumber } from '../option-parsers.js';
import { countText } from '../output/text.js';
import { showDecision, unwrapReply } from '../replies.js';

export const proposeCommand = defineCommand('propose <edge>', {
  description:
    'propose your drafts as the candidate of an edge, so that runners run its deterministic checks',
  options: {
    ...HANDLE_OPTIONS,
    '--iteration <n>': { about: 'iteration of the edge', parse: parseWholeNumber },
  },
  help: `
If the policy "evidence" is "verified", a deterministic check passes only if an enrolled runner has signed that the
check passed for exactly these drafts. gen task explain lists the checks without such a statement. When no check is
listed, submit the same drafts.

Example:
  gen task propose REQ-F-AUTH-001#design_code
  gen task submit REQ-F-AUTH-001#design_code --drafts --evaluators checks.json`,
  async run(context, edge, { iteration, ...options }) {
    const handle = await resolveHandle(context, edge, options);
    const { task_id, generation: expected_generation } = handle;
    if (subjectKindOf(task_id) !== 'edge') throw wrongUsage(`${task_id} is not an edge. Pass FEATURE#EDGE.`);
    const genesis = await context.genesis();
    const { collectDraftManifest } = await import('../edge/drafts.js');
    const manifest = await collectDraftManifest(context.requireWorkspace(), genesis, handle);
    const bytes = Buffer.from(canonicalJson(manifest));
    const candidate_sha256 = createHash('sha256').update(bytes).digest('hex');
    unwrapReply(await genesis.putBlob(candidate_sha256, bytes));
    const proposal = { ...fencingFields(handle), expected_generation, candidate_sha256 };
    const reply = unwrapReply(
      await genesis.proposeCandidate({ ...proposal, ...withoutUndefined({ iteration }) }),
    );
    showDecision(
      context,
      reply,
      () =>
        `${task_id}: ${countText(manifest.files.length, 'file')} proposed as ${candidate_sha256.slice(0, 12)}. The results of the runners: ${genCommand('task', 'explain', task_id)}`,
    );
  },
});
