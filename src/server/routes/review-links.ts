import type { LinkedReview } from '../../coordinator/methodology/review-links.js';
import { parseBody } from '../../coordinator/operations/parse-body.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { GateResult } from '../../core/contract/claim-replies.js';
import { PROBLEM_STATUS, statusOf } from '../../core/contract/codes.js';
import { reviewLinkForm } from '../../core/contract/reviews.js';
import { messagePage, reviewLinkPage } from '../page/review-link-page.js';
import { formPageResponse, type HttpResponse } from '../response.js';
import type { Handlers } from '../route.js';

const ASK_AGAIN = 'Ask the sender for a new link: gen review link.';

/** The pages behind review links. Every reply is a page, because a person reads it. */
export const reviewLinkHandlers = {
  /** Shows the candidate. Decides nothing, because programs that scan messages open links too. */
  review_link: async ({ coordinator, query }) => {
    const { token = '' } = query;
    const opened = await coordinator.reviewLinks.open(token);
    if (isProblem(opened)) return problemPage(opened);
    if (opened.state !== 'pending') return closedPage(opened.state);
    const diffs = await coordinator.reviewLinks.diffs(opened);
    return formPageResponse(reviewLinkPage(opened, diffs, token));
  },

  decide_review_link: async ({ coordinator, body, connection }) => {
    const form = parseBody(reviewLinkForm, body);
    if (isProblem(form)) {
      // The link is checked before the form's faults are shown: without a valid token the page says only that the link is not
      // valid.
      const { token } = body as { token?: string };
      const opened = await coordinator.reviewLinks.open(token ?? '');
      return isProblem(opened) || opened.state === 'pending' ? problemPage(form) : closedPage(opened.state);
    }
    const reply = await coordinator.reviewLinks.decide(form.token, form, connection.remoteAddress);
    if (isProblem(reply)) return problemPage(reply);
    if ('state' in reply) return closedPage(reply.state);
    return reply.success ? decidedPage(reply) : refusedPage(reply);
  },
} satisfies Partial<Handlers>;

function closedPage(state: LinkedReview['state']): HttpResponse {
  switch (state) {
    case 'expired':
      return formPageResponse(
        messagePage('This link has expired', 'Nothing was decided with it.', ASK_AGAIN),
        410,
        'LINK_EXPIRED',
      );
    case 'decided':
      return formPageResponse(
        messagePage(
          'Already decided',
          'A decision on this candidate was recorded before. Nothing was changed.',
        ),
        409,
        'ALREADY_DECIDED',
      );
    case 'stale':
      return formPageResponse(
        messagePage(
          'This candidate no longer waits',
          'Another candidate has taken its place, or the work has ended. Nothing was changed.',
          ASK_AGAIN,
        ),
        409,
        'STALE_REVIEW',
      );
    default:
      return formPageResponse(
        messagePage('This link is not valid', 'Check that you have copied all of it.', ASK_AGAIN),
        404,
        'NOT_FOUND',
      );
  }
}

const EFFECTS: Readonly<Record<string, string>> = {
  APPROVED: 'You have approved this candidate.',
  CHANGES_REQUESTED: 'You have requested changes. The next iteration of the work gets your comment.',
  REJECTED: 'You have rejected this candidate. The work is on hold.',
};

const decidedPage = ({ reason }: GateResult): HttpResponse =>
  formPageResponse(messagePage('Your decision is recorded', EFFECTS[reason] ?? reason));

const refusedPage = (reply: GateResult): HttpResponse => {
  const advice = 'next' in reply ? [String(reply.next)] : [];
  return formPageResponse(
    messagePage('Nothing was decided', reply.reason, ...advice),
    statusOf(reply),
    reply.reason,
  );
};

const problemPage = ({ problem, detail }: Problem): HttpResponse =>
  formPageResponse(messagePage('Nothing was decided', detail), PROBLEM_STATUS[problem], problem);
