/** A browser that has cookies and follows redirects, and nothing else. */
export function createBrowser() {
  const cookies = new Map<string, string>();
  const request = async (address: string, options: RequestInit = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(options.headers as Record<string, string>), cookie };
    const response = await fetch(address, { ...options, headers, redirect: 'manual' });
    for (const text of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(text)!;
      cookies.set(name!, value!);
    }
    return response;
  };
  return {
    request,
    /** Follows redirects up to an address that begins like this. @returns the address */
    follow: async (first: Response, until: string): Promise<string> => {
      for (let response = first; ; ) {
        const location = response.headers.get('location');
        if (!location) throw new Error(`no redirect: ${response.status} ${await response.text()}`);
        const address = new URL(location, response.url).href;
        if (address.startsWith(until)) return address;
        response = await request(address);
      }
    },
  };
}
