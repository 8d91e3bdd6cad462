import { useReply } from '../../api/use-reply.js';
import { LinkedText } from '../../components/links.js';
import { QueryResult } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';

/** Whether the task can be claimed now, why, and what it waits for. */
export function Claimability({ subject }: { subject: string }) {
  return (
    <QueryResult query={useReply('explain', { params: { subject } })}>
      {({ claimable, why, next, evidence }) => (
        <>
          <p>
            <b>{claimable ? 'Yes' : 'No'}</b>
            {claimable ? ', it can be claimed now.' : ', it cannot be claimed now:'}
          </p>
          <ul>
            {why.map(({ rule, says }) => (
              <li key={`${rule} ${says}`}>
                <span className={`mark ${claimable ? 'mark-good' : 'mark-warn'}`}>{rule}</span>{' '}
                <LinkedText text={says} currentSubject={subject} />
              </li>
            ))}
            {(evidence?.missing ?? []).map(({ name, says }) => (
              <li key={name}>
                <span className="mark mark-warn">{visibleText(name)}</span> {visibleText(says)}
              </li>
            ))}
          </ul>
          <p>{visibleText(next)}</p>
        </>
      )}
    </QueryResult>
  );
}
