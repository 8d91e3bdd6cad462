/** Whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3). Quality 0 forbids it. */
export function acceptsGzip(header: string | null): boolean {
  const accepted = new Map(
    (header ?? '').split(',').map((part) => {
      const [coding = '', quality = 'q=1'] = part.toLowerCase().split(';');
      return [coding.trim(), Number(quality.trim().slice('q='.length)) > 0] as const;
    }),
  );
  return accepted.get('gzip') ?? accepted.get('*') ?? false;
}
