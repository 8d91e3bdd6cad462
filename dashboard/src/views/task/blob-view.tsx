import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { refusalOfError } from '../../api/refusal.js';
import { useCommand } from '../../api/use-command.js';
import { RefusalText } from '../../components/refusal-text.js';
import { ScrollRegion } from '../../components/scroll-region.js';
import { Loading } from '../../components/states.js';
import { visibleText } from '../../components/untrusted-text.js';
import { type BlobText, downloadBlob, readBlobText } from './blob.js';

const TextDifference = lazy(() => import('./text-difference.js'));

const useBlob = (sha256: string | null) =>
  useQuery<BlobText>({
    queryKey: ['blob', sha256],
    queryFn: () => (sha256 === null ? { kind: 'text', text: '', isCut: false } : readBlobText(sha256)),
    // The content of a digest never changes.
    meta: { isFixed: true },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Browsers need seconds for more text. */
const CHARS_SHOWN_MAX = 256 * 1024;

export const TextBox = ({ text, name }: { text: string; name: string }) => (
  <>
    <ScrollRegion className="text-box" name={name}>
      <pre dir="auto">{visibleText(text.slice(0, CHARS_SHOWN_MAX))}</pre>
    </ScrollRegion>
    {text.length > CHARS_SHOWN_MAX ? <p className="quiet">Only the start of the text is shown.</p> : null}
  </>
);

/** The content of a blob, which is read when this component is shown. */
export function BlobView({ sha256, name }: { sha256: string; name: string }) {
  const { data, error } = useBlob(sha256);
  if (error) return <RefusalText refusal={refusalOfError(error)} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      {data.kind === 'binary' ? <p className="quiet">This is not text.</p> : null}
      {data.kind === 'text' ? <TextBox text={data.text} name={name} /> : null}
      {data.kind === 'text' && data.isCut ? (
        <p className="quiet">Only the start of the text is shown.</p>
      ) : null}
      <DownloadButton sha256={sha256} name={name} />
    </>
  );
}

function DownloadButton({ sha256, name }: { sha256: string; name: string }) {
  const { run, isBusy, refusal } = useCommand();
  const fileName = name.split('/').at(-1) || sha256;
  return (
    <>
      <button
        type="button"
        disabled={isBusy}
        onClick={() => void run(() => downloadBlob(sha256, fileName).then(() => ({})))}
      >
        Download
      </button>
      <RefusalText refusal={refusal} />
    </>
  );
}

/** The difference of two blobs; null stands for no file. */
export function BlobDifference({ before, after }: { before: string | null; after: string | null }) {
  const [old, current] = [useBlob(before), useBlob(after)];
  const error = old.error ?? current.error;
  if (error) return <RefusalText refusal={refusalOfError(error)} />;
  if (old.data === undefined || current.data === undefined) return <Loading />;
  if (old.data.kind === 'binary' || current.data.kind === 'binary')
    return <p className="quiet">This is not text.</p>;
  return (
    <Suspense fallback={<Loading />}>
      <TextDifference before={old.data.text} after={current.data.text} />
      {old.data.isCut || current.data.isCut ? <p className="quiet">Only the start was compared.</p> : null}
    </Suspense>
  );
}
