package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// image is the container's image: the Debian one, whose locale is en_US.UTF-8.
const image = "postgres:17"

// startContainer starts a server in a container. Its daemon is asked first,
// since testcontainers takes long to find that nobody answers.
func startContainer(ctx context.Context) (server, error) {
	if !dockerAnswers(ctx) {
		return server{}, errors.New("no Docker daemon answers")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute) // an image may have to be fetched
	defer cancel()
	c, err := postgres.Run(ctx, image, postgres.WithUsername("meminfra"), postgres.WithPassword(randomHex(16)),
		postgres.WithDatabase("meminfra"), postgres.BasicWaitStrategies(),
		testcontainers.WithCmdArgs("-c", "fsync=off", "-c", "max_connections=200"))
	if err != nil {
		return server{}, errors.Join(fmt.Errorf("container: %w", err), testcontainers.TerminateContainer(c))
	}
	target, err := c.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return server{}, errors.Join(fmt.Errorf("container: %w", err), testcontainers.TerminateContainer(c))
	}
	return server{url: target, stop: func() { _ = testcontainers.TerminateContainer(c) }}, nil
}

// dockerAnswers reports whether a daemon answers within two seconds. Any HTTP
// answer counts, also one that asks for TLS.
func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, host := range dockerHosts() {
		u, err := url.Parse(host)
		if err != nil {
			continue
		}
		network, address := "tcp", u.Host
		if u.Scheme == "unix" {
			network, address = "unix", u.Path
		}
		client := http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, address)
			},
			DisableKeepAlives: true,
		}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
		if err != nil {
			continue
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
			return true
		}
	}
	return false
}

// dockerHosts are the places where testcontainers looks as well.
func dockerHosts() []string {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return []string{host}
	}
	hosts := []string{"unix:///var/run/docker.sock"}
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		hosts = append(hosts, "unix://"+filepath.Join(run, "docker.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		hosts = append(hosts, "unix://"+filepath.Join(home, ".docker/run/docker.sock"))
	}
	return hosts
}
