import type { SubmissionReply } from '../../client/replies.js';
import { edgeReviewCommand, genCommand } from '../../core/methodology/definition/command.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Paint } from './paint.js';
import { firstLines, singleLine } from './text.js';

const PATHS_SHOWN_MAX = 20;

export function submissionText(
  taskId: string,
  { work_product_ref, late }: SubmissionReply,
  paths: readonly string[],
): string {
  const done = subjectKindOf(taskId) === 'edge' ? 'has converged' : 'is done';
  const head = `${taskId} ${done}: ${work_product_ref}${late ? ' (late, before any other claim)' : ''}`;
  return [head, ...firstLines(paths, PATHS_SHOWN_MAX, (path) => `  ${singleLine(path)}`)].join('\n');
}

/** Why a result was refused, and the commands that resolve it. */
export function refusalLines(taskId: string, reply: SubmissionReply, paint: Paint): string[] {
  const { feature_id = '', edge = '' } = subjectKeys(taskId);
  switch (reply.reason) {
    case 'NOT_CONVERGED':
      return (reply.failing ?? []).map(
        ({ name, says }) => `  ${paint.red('✗')} ${singleLine(`${name}: ${says}`)}`,
      );
    case 'ESCALATED':
      return [`A person must decide: ${edgeReviewCommand(feature_id, edge)}`];
    case 'OUTSIDE_AUTHORITY':
      return [
        `Release it: ${genCommand('task', 'release', taskId)}`,
        `Or claim it in a role with authority: ${genCommand('task', 'claim', taskId, '--role', 'ROLE')} (roles: agent_roles.yml)`,
      ];
    default:
      return [];
  }
}
