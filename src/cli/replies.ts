import { type ApiProblem, isProblem } from '../client/replies.js';
import type { CommandContext } from './context.js';
import { CommandFailure, exitFor } from './exit.js';
import { printOtherServerNotice } from './other-server.js';
import { singleLine } from './output/text.js';
import { wrapNotice } from './output/wrap.js';

/** Returns the reply, or throws a problem as a failure. */
export function unwrapReply<T>(reply: T | ApiProblem): T {
  if (isProblem(reply)) throw problemFailure(reply);
  return reply;
}

/** Advice for a missing or invalid token. The advice of the server names a header, but the CLI reads a variable. */
const TOKEN_ADVICE = [
  'Set GENESIS_TOKEN to the token of a valid key. An admin creates keys: gen key create.',
];

/** A failure with the text of the problem. Two or more faults are listed with their positions; a single one is in the text. */
export function problemFailure(problem: ApiProblem): CommandFailure {
  const { code, detail, faults = [] } = problem;
  const faultLines = faults.map(({ line, column, path, message }) => {
    const position = line === undefined ? path : `line ${line}${column === undefined ? '' : `:${column}`}`;
    return `  ${position}: ${singleLine(message)}`;
  });
  const lines = faults.length > 1 ? faultLines : [];
  const advice = code === 'UNAUTHENTICATED' ? TOKEN_ADVICE : [];
  const text = [[`${code}: ${singleLine(detail)}`, ...advice].join(' '), ...lines].join('\n');
  return new CommandFailure(text, exitFor(code), problem);
}

interface DecisionReply {
  readonly reason: string;
  readonly next?: string;
  readonly success?: boolean;
}

/** Shows the reply to a command that took effect. Otherwise reports the refusal and sets its exit code. */
export function showDecision<T extends DecisionReply>(
  context: CommandContext,
  reply: T,
  successText: (reply: T) => string,
): void {
  if (reply.success) context.printReply(reply, successText);
  else reportRefusal(context, reply);
}

export function reportRefusal(
  context: CommandContext,
  reply: DecisionReply,
  detail = '',
  exit = exitFor(reply.reason),
): void {
  const parts = [`${reply.reason}${detail === '' ? '.' : `: ${singleLine(detail)}`}`, reply.next];
  if (context.is_json) context.printJson(reply);
  context.printNotice(wrapNotice(parts.filter((part) => part !== undefined).join(' '), context.io));
  if (reply.reason === 'UNKNOWN_PROJECT') printOtherServerNotice(context);
  context.exit_code = exit;
}
