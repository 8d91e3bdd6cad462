import { useState } from 'react';
import { useReply } from '../../api/use-reply.js';
import { Disclosure } from '../../components/disclosure.js';
import { TaskLink } from '../../components/links.js';
import { ReadinessMark } from '../../components/readiness-mark.js';
import { QueryResult } from '../../components/states.js';
import { ResultView } from './result-view.js';

const SHOWN_FIRST = 20;

/** What a task waits for. The result of each is read when it is opened. */
export function Dependencies({ ids }: { ids: readonly string[] }) {
  const [shown, setShown] = useState(SHOWN_FIRST);
  if (ids.length === 0) return <p className="quiet">It waits for nothing.</p>;
  return (
    <>
      <ul className="dependencies">
        {ids.slice(0, shown).map((id) => (
          <li key={id}>
            <Dependency id={id} />
          </li>
        ))}
      </ul>
      {ids.length > shown ? (
        <button type="button" onClick={() => setShown(shown + SHOWN_FIRST)}>
          Show more of {ids.length}
        </button>
      ) : null}
    </>
  );
}

function Dependency({ id }: { id: string }) {
  const query = useReply('get_task_state', { params: { subject: id } });
  return (
    <>
      <TaskLink id={id} />{' '}
      <QueryResult query={query}>
        {({ readiness, result }) => (
          <>
            <ReadinessMark readiness={readiness} />
            {result === null ? null : (
              <Disclosure title={`Result of ${id}`}>
                {() => <ResultView subject={id} resultId={result.result_id} />}
              </Disclosure>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}
