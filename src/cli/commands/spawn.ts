import { type Command, Option } from 'commander';
import {
  PRIORITIES,
  type Priority,
  VECTOR_TYPES,
  type VectorType,
} from '../../core/methodology/definition/methodology.js';
import type { ActionWrapper, AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { FoldBackFile, RECOMMENDATIONS, type Recommendation } from '../methodology/fold-back-file.js';
import { withMethodology } from '../methodology/project-connection.js';
import { collectOption, withoutUndefined } from '../option-parsers.js';
import { durationText } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';

export const addSpawn: AddCommands = (program, wrapAction) => {
  const spawnCommand = program
    .command('spawn')
    .description('begin a feature, or a side question of one: discovery, spike, poc, hotfix')
    .addOption(new Option('--type <type>', 'what it is').choices(VECTOR_TYPES))
    .option('--id <id>', 'the new feature’s own id; side questions are numbered')
    .option('--parent <id>', 'the feature it comes from')
    .option('--edge <edge>', 'the edge of the parent that waits for the answer')
    .option('--reason <text>', 'what is to be found out or done')
    .option('--title <text>', 'how to call it')
    .option('--intent <id>', 'the intent that asked for it')
    .option('--duration <time>', 'how long it may take: 1h30m, 2 days, 3 weeks')
    .option('--profile <name>', 'other than its type’s own')
    .addOption(new Option('--priority <priority>', 'how urgent it is').choices(PRIORITIES))
    .addHelpText(
      'after',
      `
Examples:
  gen spawn --type feature --id REQ-F-AUTH-001 --reason "people can log in" --title "Log in"
  gen spawn --type spike --parent REQ-F-AUTH-001 --edge design_code --reason "which token library?" --duration 1w
  gen spawn fold-back REQ-F-SPIKE-001 --answered --summary "jose does all of it"`,
    )
    .action(wrapAction(spawn));
  addFoldBack(spawnCommand, wrapAction);
};

interface SpawnOptions {
  readonly type?: VectorType;
  readonly id?: string;
  readonly parent?: string;
  readonly edge?: string;
  readonly reason?: string;
  readonly title?: string;
  readonly intent?: string;
  readonly duration?: string;
  readonly profile?: string;
  readonly priority?: Priority;
}

async function spawn(context: CommandContext, options: SpawnOptions): Promise<void> {
  const { type, id, reason, ...rest } = options;
  const { parent } = rest;
  if (type === undefined || reason === undefined)
    throw wrongUsage(
      'Say what and why: gen spawn --type spike --parent REQ-F-AUTH-001 --reason "which library?"',
    );
  if (type === 'feature' && id === undefined)
    throw wrongUsage('A feature is called by its requirement: --id REQ-F-AUTH-001');
  if (type !== 'feature' && parent === undefined)
    throw wrongUsage(`A ${type} belongs to a feature: --parent ID. What there is: gen status`);
  const optionalFields = { ...rest, feature_id: id, agent_id: await context.agent() };
  await withMethodology(context, 'write', async ({ calls }) => {
    const reply = unwrapReply(
      await calls.spawn({ vector_type: type, reason, ...withoutUndefined(optionalFields) }),
    );
    if (!reply.success) return reportRefusal(context, reply, '');
    context.show(reply, ({ feature_id, blocks, vector, next }) =>
      [
        `${context.paint.bold(feature_id ?? '')}  ${type}, profile ${vector?.profile ?? ''}`,
        ...(blocks === null ? [] : [`  ${parent} waits for it on ${blocks}.`]),
        ...(vector?.time_box == null
          ? []
          : [`  Its time box: ${durationText(vector.time_box.duration_seconds)}.`]),
        next,
      ].join('\n'),
    );
  });
}

interface FoldBackOptions {
  readonly summary?: string;
  readonly recommendation: Recommendation;
  readonly artifact?: readonly string[];
  readonly expired?: true;
  readonly answered?: true;
}

function addFoldBack(spawnCommand: Command, wrapAction: ActionWrapper): void {
  spawnCommand
    .command('fold-back <child>')
    .description('bring what a side question found back to the feature it came from')
    .option('--summary <text>', 'what was found; left out where features/fold-back/<child>.md says it')
    .addOption(
      new Option('--recommendation <what>', 'what follows').choices(RECOMMENDATIONS).default('proceed'),
    )
    .option('--artifact <path>', 'something it made (repeat for more)', collectOption)
    .addOption(new Option('--expired', 'its time box ran out').conflicts('answered'))
    .option('--answered', 'the question is answered, though not every edge has converged')
    .addHelpText(
      'after',
      `
Examples:
  gen spawn fold-back REQ-F-SPIKE-001 --answered --summary "jose does all of it"
  gen spawn fold-back REQ-F-POC-002 --expired --recommendation abandon --summary "too slow" --artifact bench.md`,
    )
    .action(wrapAction(foldBack));
}

async function foldBack(context: CommandContext, child: string, options: FoldBackOptions): Promise<void> {
  await withMethodology(context, 'write', async ({ calls, workspace }) => {
    const { recommendation, artifact: artifacts = [] } = options;
    const file = workspace === null ? null : await FoldBackFile.open(workspace, child);
    const summary = options.summary ?? file?.text ?? null;
    if (summary === null) throw wrongUsage('What was found? Say --summary TEXT.');
    await file?.write({ summary, recommendation, artifacts });
    const reply = unwrapReply(
      await calls.foldBack({
        feature_id: child,
        fold_back_status: options.expired === true ? 'time_box_expired' : 'converged',
        summary: summary.slice(0, SUMMARY_CHARS_MAX),
        recommendation,
        artifacts: [...artifacts],
        agent_id: await context.agent(),
        ...withoutUndefined({ question_answered: options.answered, payload_path: file?.path }),
      }),
    );
    if (!reply.success) {
      await file?.undo();
      return reportRefusal(
        context,
        reply,
        reply.reason === 'NOT_CONVERGED'
          ? 'where the question is answered all the same, say --answered.'
          : '',
      );
    }
    context.show(reply, ({ parent, unblocked, remediation, next }) =>
      [
        `${context.paint.bold(child)} folded back to ${parent}.`,
        ...(unblocked === null ? [] : [`  ${unblocked} may go on.`]),
        ...(remediation === null ? [] : [`  ${remediation} does properly what was done in haste.`]),
        ...(file === null ? [] : [`  ${file.path}`]),
        next,
      ].join('\n'),
    );
  });
}

const SUMMARY_CHARS_MAX = 4000;
