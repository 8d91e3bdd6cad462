import type { OperationId } from '../../api/call.js';
import { useCommand } from '../../api/use-command.js';
import { useIsAllowed, useWhoami } from '../../api/whoami.js';
import { RefusalText } from '../../components/refusal-text.js';
import { useUnsentText } from '../../components/use-unsent-text.js';

const COMMENT_LENGTH_MAX = 4000;

interface Answer<Decision> {
  readonly decision: Decision;
  readonly name: string;
  readonly tone?: 'primary' | 'danger';
}

export interface AnswerListener {
  /** `text` is the name of the answer, or a sentence about it. */
  onAnswered(text: string): void;
  onRefused(): void;
}

/** A comment and one button per decision, if the caller may decide. The comment is kept until the answer has been accepted. */
export function AnswerForm<Decision extends string>({
  unsentTextKey,
  operation,
  answers,
  send,
  onAnswered,
  onRefused,
}: AnswerListener & {
  unsentTextKey: string;
  operation: OperationId;
  answers: readonly Answer<Decision>[];
  /** `comment` is absent if it is empty. */
  send: (decision: Decision, comment: { comment?: string }) => Promise<object>;
}) {
  const [comment, setComment] = useUnsentText(unsentTextKey);
  const { run, isBusy, refusal } = useCommand();
  const canAnswer = useIsAllowed(operation);
  const answer = async ({ decision, name }: Answer<Decision>) => {
    const text = comment.trim();
    const isAccepted = await run(() => send(decision, text === '' ? {} : { comment: text }));
    if (!isAccepted) return onRefused();
    setComment('');
    onAnswered(name);
  };
  if (!canAnswer) return <NotPermitted />;
  return (
    <div className="answer">
      <RefusalText refusal={refusal} />
      <label>
        Comment
        <textarea
          rows={2}
          maxLength={COMMENT_LENGTH_MAX}
          value={comment}
          onChange={(event) => setComment(event.target.value)}
        />
      </label>
      <div className="row">
        {answers.map((each) => (
          <button
            key={each.decision}
            type="button"
            className={each.tone}
            disabled={isBusy}
            onClick={() => void answer(each)}
          >
            {each.name}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Says why there are no buttons. Shows nothing until the server has identified the caller. */
function NotPermitted() {
  const { data } = useWhoami();
  if (data === undefined) return null;
  return (
    <p className="quiet">
      Your role, {data.role}, does not permit a decision. A key that does:{' '}
      <code>gen key create --role reviewer</code>
    </p>
  );
}
