import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { call, type Reply } from '../../api/call.js';
import { Disclosure } from '../../components/disclosure.js';
import { Loading, QueryResult } from '../../components/states.js';
import { BlobDifference, BlobView, TextBox } from './blob-view.js';
import { DiffText } from './diff-text.js';
import { FileList } from './file-list.js';
import { contentOf, type ResultContent } from './result-content.js';

type TaskResult = Reply<'get_result'>;

const TextDifference = lazy(() => import('./text-difference.js'));

/** A result with its data. It never changes, so it is read once. */
export const useResult = (subject: string, resultId: string | null) =>
  useQuery<TaskResult | null>({
    queryKey: ['get_result', subject, resultId],
    queryFn: () =>
      resultId === null ? null : call('get_result', { params: { subject, result_id: resultId } }),
    meta: { isFixed: true },
  });

export function ContentView({ content, name }: { content: ResultContent; name: string }) {
  switch (content.kind) {
    case 'none':
      return <p className="quiet">The data of this result was not kept.</p>;
    case 'blob':
      return (
        <Disclosure title="Open the large content">
          {() => <BlobView sha256={content.sha256} name={name} />}
        </Disclosure>
      );
    case 'files':
      return <FileList files={content.files} />;
    case 'diff':
      return <DiffText diff={content.text} />;
    default:
      return <TextBox text={content.text} name={name} />;
  }
}

export function ResultView({ subject, resultId }: { subject: string; resultId: string }) {
  return (
    <QueryResult query={useResult(subject, resultId)}>
      {(result) =>
        result === null ? null : <ContentView content={contentOf(result)} name={`Result ${result.id}`} />
      }
    </QueryResult>
  );
}

/** How a candidate or a refused result differs from the accepted result. */
export function ContentDifference({ accepted, other }: { accepted: ResultContent; other: ResultContent }) {
  if (accepted.kind === 'files' && other.kind === 'files')
    return <FileList files={other.files} accepted={accepted.files} />;
  if (accepted.kind === 'blob' && other.kind === 'blob')
    return <BlobDifference before={accepted.sha256} after={other.sha256} />;
  if ('text' in accepted && 'text' in other)
    return (
      <Suspense fallback={<Loading />}>
        <TextDifference before={accepted.text} after={other.text} />
      </Suspense>
    );
  return <p className="quiet">These results cannot be compared, because one is not text or was not kept.</p>;
}
