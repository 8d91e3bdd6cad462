import type { SubmissionReply } from '../../client/replies.js';
import { kindOf, subjectKeys } from '../../core/subject.js';
import type { Paint } from './paint.js';
import { plainText } from './text.js';

const PATHS_SHOWN_MAX = 20;

/** A result that was accepted, and the files it is made of. */
export function submissionText(
  task_id: string,
  { work_product_ref, late }: SubmissionReply,
  paths: readonly string[],
): string {
  const done = kindOf(task_id) === 'edge' ? 'has converged' : 'is done';
  const lines = [
    `${task_id} ${done}: ${work_product_ref}${late ? ' (late, and nobody had taken over)' : ''}`,
  ];
  lines.push(...paths.slice(0, PATHS_SHOWN_MAX).map((path) => `  ${plainText(path)}`));
  if (paths.length > PATHS_SHOWN_MAX) lines.push(`  and ${paths.length - PATHS_SHOWN_MAX} more`);
  return lines.join('\n');
}

/** What stands in the way of a result that was refused, and the commands that clear it. */
export function whyNotAccepted(task_id: string, reply: SubmissionReply, paint: Paint): string[] {
  const { feature_id = '', edge = '' } = subjectKeys(task_id);
  switch (reply.reason) {
    case 'NOT_CONVERGED':
      return (reply.failing ?? []).map(
        ({ name, says }) => `  ${paint.red('✗')} ${plainText(`${name}: ${says}`)}`,
      );
    case 'ESCALATED':
      return [`A human decides with: gen review --feature ${feature_id} --edge ${edge}`];
    case 'OUTSIDE_AUTHORITY':
      return [
        `Give it back: gen task release ${task_id}`,
        `Take it in a role that may: gen task claim ${task_id} --role ROLE (roles: agent_roles.yml)`,
      ];
    default:
      return [];
  }
}
