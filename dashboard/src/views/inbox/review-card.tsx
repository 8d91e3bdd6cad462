import { command } from '../../api/call.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { actorName } from '../../model/actor-name.js';
import { AnswerForm, type AnswerListener } from './answer-form.js';
import { Candidate } from './candidate.js';
import { CheckCounts } from './check-counts.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

const ANSWERS = [
  { decision: 'APPROVED', name: 'Approve', tone: 'primary' },
  { decision: 'CHANGES_REQUESTED', name: 'Request changes' },
  { decision: 'REJECTED', name: 'Reject', tone: 'danger' },
] as const;

/** A candidate that waits for a decision. The decision names exactly the candidate that is shown. */
export function ReviewCard({ item, onAnswered, onRefused }: { item: ItemOf<'review'> } & AnswerListener) {
  const { review } = item;
  const { failing = [] } = review;
  const { task_id, generation, iteration, candidate_sha256, agent_id, agent_role, deadline } = review;
  const candidate = { task_id, generation, iteration, candidate_sha256 };
  return (
    <ItemFrame item={item} name="Review" taskId={task_id}>
      <p>
        <UntrustedText text={review.reason} />
      </p>
      <p className="quiet">
        <UntrustedText
          text={agent_role === null ? actorName(agent_id) : `${actorName(agent_id)} (${agent_role})`}
        />
        , generation {generation}, iteration {iteration}
        {deadline === null ? null : (
          <>
            , decide until <TimeText at={deadline} />
          </>
        )}
        . Digest <span className="mono digest">{candidate_sha256}</span>
      </p>
      <CheckCounts evaluators={review.evaluators} />
      <Candidate review={review} />
      {failing.length === 0 ? null : (
        <>
          <p>Required checks have not passed, so the candidate cannot be approved:</p>
          <ul>
            {failing.map(({ name, says }) => (
              <li key={name}>
                <UntrustedText text={`${name}: ${says}`} />
              </li>
            ))}
          </ul>
        </>
      )}
      {review.human_checks.length === 0 ? null : (
        <>
          <p>Only a person can pass these checks:</p>
          <ul>
            {review.human_checks.map(({ name, criterion }) => (
              <li key={name}>
                <UntrustedText text={`${name}: ${criterion}`} />
              </li>
            ))}
          </ul>
        </>
      )}
      <AnswerForm
        unsentTextKey={item.key}
        operation="decide_review"
        answers={failing.length === 0 ? ANSWERS : ANSWERS.filter(({ decision }) => decision !== 'APPROVED')}
        send={(decision, comment) => command('decide_review', { ...candidate, decision, ...comment })}
        onRefused={onRefused}
        onAnswered={(name) => onAnswered(`${name}: ${task_id}, generation ${generation}`)}
      />
    </ItemFrame>
  );
}
