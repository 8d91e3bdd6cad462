import type { SubmissionReply } from '../../client/replies.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Paint } from './paint.js';
import { singleLine } from './text.js';

const PATHS_SHOWN_MAX = 20;

/** An accepted result and its files. */
export function submissionText(
  taskId: string,
  { work_product_ref, late }: SubmissionReply,
  paths: readonly string[],
): string {
  const done = subjectKindOf(taskId) === 'edge' ? 'has converged' : 'is done';
  const lines = [`${taskId} ${done}: ${work_product_ref}${late ? ' (late, and nobody had taken over)' : ''}`];
  lines.push(...paths.slice(0, PATHS_SHOWN_MAX).map((path) => `  ${singleLine(path)}`));
  if (paths.length > PATHS_SHOWN_MAX) lines.push(`  and ${paths.length - PATHS_SHOWN_MAX} more`);
  return lines.join('\n');
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
      return [`A human decides with: gen review --feature ${feature_id} --edge ${edge}`];
    case 'OUTSIDE_AUTHORITY':
      return [
        `Give it back: gen task release ${taskId}`,
        `Take it in a role that may: gen task claim ${taskId} --role ROLE (roles: agent_roles.yml)`,
      ];
    default:
      return [];
  }
}
