import { PRIORITIES, VECTOR_TYPES } from '../../core/contract/values.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { wrongUsage } from '../exit.js';
import { FoldBackFile, RECOMMENDATIONS } from '../methodology/fold-back-file.js';
import { withMethodology } from '../methodology/project-connection.js';
import { collectOption } from '../option-parsers.js';
import { durationText } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';

const SUMMARY_CHARS_MAX = 4000;

const foldBack = defineCommand('fold-back <child>', {
  description: 'return the findings of a child feature to its parent',
  options: {
    '--summary <text>': 'findings (default: the content of features/fold-back/<child>.md)',
    '--recommendation <what>': { about: 'recommendation', choices: RECOMMENDATIONS, default: 'proceed' },
    '--artifact <path>': {
      about: 'path of a file that the child produced; repeatable',
      parse: collectOption,
    },
    '--expired': { about: 'the time box has expired', conflicts: ['answered'] },
    '--answered': 'the question is answered, although not every edge has converged',
  },
  help: `
Examples:
  gen spawn fold-back REQ-F-SPIKE-001 --answered --summary "jose does all of it"
  gen spawn fold-back REQ-F-POC-002 --expired --recommendation abandon --summary "too slow" --artifact bench.md`,
  run: (context, child, { recommendation, artifact: artifacts = [], expired, answered, ...options }) =>
    withMethodology(context, 'write', async ({ calls, workspace }) => {
      const file = workspace === null ? null : await FoldBackFile.open(workspace, child);
      const summary = options.summary ?? file?.text ?? null;
      if (summary === null) throw wrongUsage('The fold-back has no summary. Pass --summary TEXT.');
      await file?.write(summary, recommendation, artifacts);
      const reply = unwrapReply(
        await calls.foldBack({
          feature_id: child,
          fold_back_status: expired ? 'time_box_expired' : 'converged',
          summary: summary.slice(0, SUMMARY_CHARS_MAX),
          recommendation,
          artifacts,
          agent_id: await context.agent(),
          ...withoutUndefined({ question_answered: answered, payload_path: file?.path }),
        }),
      );
      if (!reply.success) {
        await file?.undo();
        const isOpen = reply.reason === 'NOT_CONVERGED';
        const advice = isOpen ? 'If the question is answered anyway, pass --answered.' : '';
        return reportRefusal(context, reply, advice);
      }
      context.printReply(reply, ({ parent, unblocked, remediation, next }) => [
        `${context.paint.bold(child)} folded back to ${parent}.`,
        ...(unblocked === null ? [] : [`  ${unblocked} is no longer blocked.`]),
        ...(remediation === null ? [] : [`  Remediation: ${remediation}`]),
        ...(file === null ? [] : [`  ${file.path}`]),
        next,
      ]);
    }),
});

export const spawnCommand = defineCommand('spawn', {
  description: 'create a feature, or a child of a feature: discovery, spike, poc, hotfix',
  options: {
    '--type <type>': { about: 'type of the feature', choices: VECTOR_TYPES },
    '--id <id>': 'id of the new feature; the id of a child is generated',
    '--parent <id>': 'parent feature',
    '--edge <edge>': 'edge of the parent; it waits for the answer of the child',
    '--reason <text>': 'question to answer, or work to do',
    '--title <text>': 'title of the feature',
    '--intent <id>': 'intent that the feature comes from',
    '--duration <time>': 'time box: 1h30m, 2 days, 3 weeks',
    '--profile <name>': 'profile (default: the profile of the type)',
    '--priority <priority>': { about: 'priority of the feature', choices: PRIORITIES },
  },
  help: `
Examples:
  gen spawn --type feature --id REQ-F-AUTH-001 --reason "people can log in" --title "Log in"
  gen spawn --type spike --parent REQ-F-AUTH-001 --edge design_code --reason "which token library?" --duration 1w
  gen spawn fold-back REQ-F-SPIKE-001 --answered --summary "jose does all of it"`,
  subcommands: [foldBack],
  async run(context, { type, id: feature_id, reason, ...otherOptions }) {
    const { parent } = otherOptions;
    if (type === undefined || reason === undefined)
      throw wrongUsage(
        'Pass --type and --reason: gen spawn --type spike --parent REQ-F-AUTH-001 --reason "which library?"',
      );
    if (type === 'feature' && feature_id === undefined)
      throw wrongUsage('A feature requires an id. Pass one such as --id REQ-F-AUTH-001.');
    if (type !== 'feature' && parent === undefined)
      throw wrongUsage(`A ${type} requires a parent feature. Pass --parent ID. Features: gen status`);
    const optionalFields = withoutUndefined({ ...otherOptions, feature_id });
    const request = { vector_type: type, reason, ...optionalFields, agent_id: await context.agent() };
    await withMethodology(context, 'write', async ({ calls }) => {
      const reply = unwrapReply(await calls.spawn(request));
      if (!reply.success) return reportRefusal(context, reply);
      context.printReply(reply, ({ feature_id, blocks, vector: feature, next }) => {
        const timeBox = feature?.time_box ?? null;
        return [
          `${context.paint.bold(feature_id ?? '')}  ${type}, profile ${feature?.profile ?? ''}`,
          ...(blocks === null ? [] : [`  ${parent} waits for it on ${blocks}.`]),
          ...(timeBox === null ? [] : [`  Time box: ${durationText(timeBox.duration_seconds)}.`]),
          next,
        ];
      });
    });
  },
});
