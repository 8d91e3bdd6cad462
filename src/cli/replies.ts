import { type ApiProblem, isProblem } from '../client/replies.js';
import type { CommandContext } from './context.js';
import { CommandFailure, exitFor } from './exit.js';
import { singleLine } from './output/text.js';
import { wrapNotice } from './output/wrap.js';

/** Returns the reply, or throws a problem as a failure. */
export function unwrapReply<T>(reply: T | ApiProblem): T {
  if (isProblem(reply)) throw problemFailure(reply);
  return reply;
}

export const problemFailure = (problem: ApiProblem): CommandFailure =>
  new CommandFailure(problemText(problem), exitFor(problem.code), problem);

/** A problem as text, with the position of each fault. */
export function problemText({ code, detail, faults = [] }: ApiProblem): string {
  const faultLines = faults.map(({ line, column, path, message }) => {
    const position = line === undefined ? path : `line ${line}${column === undefined ? '' : `:${column}`}`;
    return `  ${position}: ${singleLine(message)}`;
  });
  const lines = faults.length > 1 ? faultLines : [];
  return [`${code}: ${singleLine(detail)}`, ...lines].join('\n');
}

interface DecisionReply {
  readonly reason: string;
  readonly next?: string;
  readonly success?: boolean;
  readonly accepted?: boolean;
}

/** Shows a granted or accepted reply. Otherwise reports the refusal and sets its exit code. */
export function showDecision<T extends DecisionReply>(
  context: CommandContext,
  reply: T,
  successText: (reply: T) => string,
  refusalDetail = '',
): void {
  if (reply.success === true || reply.accepted === true) {
    context.show(reply, successText);
    return;
  }
  reportRefusal(context, reply, refusalDetail);
}

export function reportRefusal(
  context: CommandContext,
  reply: DecisionReply,
  detail: string,
  exit = exitFor(reply.reason),
): void {
  const parts = [`${reply.reason}${detail === '' ? '.' : `: ${singleLine(detail)}`}`, reply.next];
  if (context.is_json) context.printJson(reply);
  context.printNotice(wrapNotice(parts.filter((part) => part !== undefined).join(' '), context.io));
  context.exit_code = exit;
}
